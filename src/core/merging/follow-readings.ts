import { andThen, orElse } from '../../base/awaitable.ts';
import type { Caller } from '../caller.ts';
import type { ResourceUpdate } from '../source.ts';
import { OWN } from '../tool-names.ts';
import { withLabel } from './address-names.ts';
import { mergeResources, theirUri, type MergedFaces } from './merge-readings.ts';
import { theirs } from './placing.ts';

/** Follows a resource at the source it is of, under the address it has there. */
export function followIn(uri: string, caller: Caller, faces: MergedFaces): () => void {
  let stop: (() => void) | undefined;
  let isOver = false;
  const face = (faces.resources ??= mergeResources(faces));
  void orElse<void>(
    () =>
      andThen(face?.find(uri, caller), (found) => {
        if (!found || isOver) return;
        const source = faces.sources.get(found.resource.place?.source ?? OWN);
        stop = source?.follow?.(theirUri(found.resource, uri), caller);
      }),
    // A resource that cannot be found cannot be followed; reading it gives the error.
    () => undefined,
  );
  return () => {
    isOver = true;
    stop?.();
  };
}

/** An update of one source, under each address it may be followed by. */
export function shownUpdates(
  { uri, concerns }: ResourceUpdate,
  label: string,
  { addresses }: MergedFaces,
): readonly ResourceUpdate[] {
  const shown = new Set([uri, addresses.known({ source: label, name: uri })]);
  // Addresses that follow a template have no name of their own, and not all callers are shown the same ones.
  if (label !== OWN) shown.add(withLabel(uri, addresses.labelOf(label)));
  return Array.from(shown, (address) => ({
    kind: 'resource',
    uri: address,
    concerns: (found, caller) =>
      (found.place?.source ?? OWN) === label && (concerns?.(theirs(found), caller) ?? true),
  }));
}
