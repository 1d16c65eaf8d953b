import { randomBytes } from 'node:crypto';

/** A name for an approval, short enough to be read out. */
export function newApprovalId(): string {
  return `apr_${randomBytes(6).toString('hex')}`;
}
