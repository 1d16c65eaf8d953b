import { JailRefusal } from './jail-refusal.ts';
import type { Failure, FileSettings } from './site.ts';

/** The failure for a file whose extension is not listed. */
export function typeNotAllowed({ extensions }: FileSettings): Failure {
  return {
    error: 'File type not allowed',
    message: `Files with these extensions can be used: ${extensions.join(', ')}.`,
  };
}

/** The failure for something that must not be replaced. */
export const ALREADY_EXISTS: Failure = {
  error: 'Already exists',
  message: 'Choose another path; overwrite: true replaces a file, but never a directory.',
};

/** The failure for changing a file with further hard links, which may be outside. */
export const HARD_LINKED: Failure = {
  error: 'File has other names',
  message: 'It is a hard link, so it is not replaced, moved or deleted; write to another path.',
};

/** The failure for an error of the jail or the file system; any other error is rethrown. */
export function fileFailure(error: unknown, operation: string, settings: FileSettings): Failure {
  if (error instanceof JailRefusal)
    return error.reason === 'invalid' ? invalid(settings) : missing(operation);
  if (!(error instanceof Error) || !('syscall' in error)) throw error;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return missing(operation);
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return invalid(settings);
    case 'EINVAL':
      return operation === 'move' ? INTO_ITSELF : unable(operation);
    case 'EEXIST':
      return ALREADY_EXISTS;
    case 'ENOTEMPTY':
      return { error: 'Directory not empty', message: 'Delete what is in it first.' };
    case 'ENOSPC':
    case 'EDQUOT':
      return { error: 'Disk full', message: 'Nothing was written. Delete files or write less.' };
    default:
      return unable(operation);
  }
}

function invalid({ hidden }: FileSettings): Failure {
  const names = hidden ? '' : ', names that begin with a dot';
  return {
    error: 'Invalid path',
    message: `Use a path below the offered folder, without "..", links${names} or special characters; list with the path "." shows what there is.`,
  };
}

const INTO_ITSELF: Failure = {
  error: 'Invalid path',
  message: 'A directory cannot be moved into itself; choose another path for to.',
};

const UNABLE: Readonly<Record<string, string>> = {
  read: 'Unable to read file',
  list: 'Unable to read directory',
  info: 'Unable to read path',
  search: 'Unable to read directory',
  write: 'Unable to write file',
  mkdir: 'Unable to make directory',
  move: 'Unable to move path',
  delete: 'Unable to delete path',
};

function unable(operation: string): Failure {
  return {
    error: UNABLE[operation] ?? 'Unable to use path',
    message: 'The system does not allow it. Try another path, or tell the operator of this server.',
  };
}

function missing(operation: string): Failure {
  switch (operation) {
    case 'read':
      return { error: 'File not found', message: 'There is no such file; list shows what there is.' };
    case 'list':
    case 'search':
      return {
        error: 'Directory not found',
        message: 'There is no such directory; list with the path "." shows what there is.',
      };
    case 'write':
    case 'mkdir':
      return {
        error: 'Directory not found',
        message: 'Make the directory with mkdir first, or choose one that list shows.',
      };
    case 'move':
      return {
        error: 'Path not found',
        message: 'Either path or the directory of to is not there; list shows what there is.',
      };
    default:
      return { error: 'Path not found', message: 'There is nothing at this path; list shows what there is.' };
  }
}
