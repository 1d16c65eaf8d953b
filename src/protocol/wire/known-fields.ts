import { isObject } from '../../base/json.ts';
import type { JsonObject } from './json-rpc.ts';
import type { Features } from '../revisions/revision.ts';

/** A definition or block without the fields of later revisions: strict clients refuse unknown fields. */
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
