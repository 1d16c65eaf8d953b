import { andThen, type Awaitable } from '../../base/awaitable.ts';
import { ToolcribError } from '../../base/errors.ts';
import { directoryIn, skillNotFound, type ServedSkill } from '../../core/resources/skill.ts';
import { encodeResource, encodeSkill } from '../../protocol/encode/definition.ts';
import { readCursor, readUri } from '../../protocol/wire/params.ts';
import type { ServerParts } from '../parts.ts';
import type { UnderstoodRequest } from '../request.ts';
import type { ListKind, Lists } from './lists.ts';
import type { Method } from './methods.ts';
import { faceOf } from './resources-and-prompts.ts';

/** The methods of the Skills extension; the files of a skill are read like any resource. */
export function skillMethods({ source, info }: ServerParts, lists: Lists): [string, Method][] {
  const skillsFor = (request: UnderstoodRequest): Awaitable<readonly ServedSkill[]> =>
    faceOf(source.resources?.skills, request).list(request.link.caller);
  const list: Method = (request) => {
    const cursor = readCursor(request.message.params);
    return andThen(skillsFor(request), (skills) =>
      lists.page(skills, SKILLS, { revision: request.revision, cursor }),
    );
  };
  const get: Method = (request) => {
    const uri = readUri(request.message.params);
    return andThen(skillsFor(request), (skills) => {
      const skill = skills.find((one) => one.uri === uri);
      if (!skill) throw skillNotFound(uri);
      return JSON.stringify(request.revision.frame({ skill: encodeSkill(skill) }, info, 'cacheable'));
    });
  };
  const readDirectory: Method = (request) => {
    const { revision, message } = request;
    const uri = readUri(message.params);
    const cursor = readCursor(message.params);
    return andThen(skillsFor(request), (skills) => {
      const children = directoryIn(skills, uri);
      if (!children) throw notADirectory(uri);
      return lists.page(children, CHILDREN, { revision, cursor });
    });
  };
  return [
    ['skills/list', list],
    ['skills/get', get],
    ['resources/directory/read', readDirectory],
  ];
}

// The JSON around a file: its address twice as long as most, its digest and its size.
const FILE_BYTES = 200;

const SKILLS: ListKind<ServedSkill> = {
  member: 'skills',
  keyOf: ({ uri }) => uri,
  encode: encodeSkill,
  weigh: ({ files, frontmatter }) => files.length * FILE_BYTES + JSON.stringify(frontmatter).length,
};

const CHILDREN: ListKind<ServedSkill['files'][number]> = {
  member: 'resources',
  keyOf: ({ uri }) => uri,
  encode: encodeResource,
};

function notADirectory(uri: string): ToolcribError {
  return new ToolcribError('unknown_resource', `There is no folder of a skill at ${uri}`, { data: { uri } });
}
