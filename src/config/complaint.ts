import { ToolcribError } from '../base/errors.ts';

/** A problem in a configuration file: what is wrong, where, and how to fix it. */
export interface Complaint {
  readonly file: string;
  /** Counted from 1, like the column; 0 for the file as a whole. */
  readonly line: number;
  readonly column: number;
  /** The setting, such as `access[0].tools`; empty if it is none. */
  readonly path: string;
  readonly message: string;
  /** How to fix it; empty if the message says it all. */
  readonly remedy: string;
  /** A file with warnings can still be used. */
  readonly severity: 'error' | 'warning';
}

/** What is wrong with a file as a whole, or with a setting whose place in it is not known. */
export interface AboutFile {
  readonly path?: readonly PropertyKey[];
  readonly message: string;
  readonly remedy?: string;
  readonly severity?: Complaint['severity'];
}

/** Complains about a file without a place in it. */
export function aboutFile(file: string, about: AboutFile): Complaint {
  const { path = [], message, remedy = '', severity = 'error' } = about;
  return { file, line: 0, column: 0, path: formatPath(path), message, remedy, severity };
}

/** One line for people, in the form that editors and terminals turn into a link. */
export function formatComplaint(complaint: Complaint): string {
  const { file, line, column, path, message, remedy, severity } = complaint;
  const place = line > 0 ? `${file}:${line}:${column}` : file;
  // A phrase continues the name of the setting; a sentence stands by itself.
  const isPhrase = /^[a-z]/.test(message);
  const lead = isPhrase ? `${path || 'The file'} ` : path && `${path}: `;
  const text = `${lead}${joined(message, remedy)}`;
  return `${place}: ${severity === 'warning' ? 'warning: ' : ''}${text}${/[.?!]$/.test(text) ? '' : '.'}`;
}

function joined(message: string, remedy: string): string {
  if (remedy === '') return message;
  return /^[A-Z]/.test(remedy) ? `${message} ${remedy}` : `${message.replace(/\.$/, '')}; ${remedy}`;
}

/** All complaints as one error, for the developer who starts the process. */
export function complaintError(complaints: readonly Complaint[]): ToolcribError {
  return new ToolcribError('invalid_config', complaints.map(formatComplaint).join('\n'), {
    data: { complaints },
  });
}

/** A path as text: `access[0].tools`. */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    const name = String(key);
    if (!/^[\w$-]+$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text === '' ? name : `${text}.${name}`;
  }, '');
}
