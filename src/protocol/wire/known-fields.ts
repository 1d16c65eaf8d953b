import { isObject } from '../../base/json.ts';
import type { JsonObject } from './json-rpc.ts';
import type { Features } from '../revisions/revision.ts';

/** A definition or a block without the fields that came with later revisions: strict clients refuse what they do not know. */
export function knownFields(from: JsonObject, { titles, icons }: Features): JsonObject {
  if (titles && icons) return from;
  const { title, _meta, icons: pictures, annotations, ...rest } = from;
  const known = titles ? annotations : withoutDate(annotations);
  return {
    ...rest,
    ...(titles && title !== undefined && { title }),
    ...(titles && _meta !== undefined && { _meta }),
    ...(icons && pictures !== undefined && { icons: pictures }),
    ...(known !== undefined && { annotations: known }),
  };
}

function withoutDate(annotations: unknown): unknown {
  if (!isObject(annotations)) return annotations;
  const { lastModified: _date, ...known } = annotations;
  return Object.keys(known).length > 0 ? known : undefined;
}
