import { randomBytes } from 'node:crypto';

/** A new id for an approval, short enough to be read aloud. */
export function newApprovalId(): string {
  return `apr_${randomBytes(6).toString('hex')}`;
}
