import { hashOf, type NameStyle } from '../tool-names.ts';

/** Addresses of resources: as they are, or with the label of their source as the first part of the path. */
export const addressStyle: NameStyle = {
  lookOf: (uri) => uri,
  plain: (uri) => uri,
  prefixed: (label, uri) => withLabel(uri, label),
  isFaithful: () => true,
  unique: (uri, place) => withLabel(uri, hashOf(place)),
};

/** The address with a label in front of its path; the scheme stays, since clients go by it. */
export function withLabel(uri: string, label: string): string {
  const start = pathStart(uri);
  return `${uri.slice(0, start)}${label}/${uri.slice(start)}`;
}

/** The address without that label; `undefined` where it has another one or none. */
export function withoutLabel(uri: string, label: string): string | undefined {
  const start = pathStart(uri);
  return uri.startsWith(`${label}/`, start)
    ? `${uri.slice(0, start)}${uri.slice(start + label.length + 1)}`
    : undefined;
}

/** An address that follows a template as it is shown, as its source knows it: without the label that was put in. */
export function theirAddress(address: string, shown: string, theirs: string): string {
  const inShown = pathStart(shown);
  // What stands for a variable in front of the path may be of any length.
  const start = shown.slice(0, inShown).includes('{') ? pathStart(address) : inShown;
  return `${address.slice(0, start)}${address.slice(start + shown.length - theirs.length)}`;
}

function pathStart(uri: string): number {
  const colon = uri.indexOf(':');
  if (colon < 0) return 0;
  return uri.startsWith('://', colon) ? colon + 3 : colon + 1;
}
