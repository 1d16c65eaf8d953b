import { userInfo } from 'node:os';
import type { Approval } from '../core/memory/approval.ts';
import { ToolcribError } from '../base/errors.ts';
import { escapeUnseen } from '../base/escape-unseen.ts';
import { parseJson } from '../base/parse-json.ts';
import {
  loadDeployment,
  readDeployment,
  operatorName,
  operatorRow,
  withDeployment,
  type DeploymentFlags,
} from './deployment.ts';
import { formatJson, formatTime, printable } from './table.ts';

/** Options of `toolcrib approvals list`. */
export interface ListApprovalsFlags extends DeploymentFlags {
  readonly tenant?: string;
}

/** Options of `toolcrib approvals approve`. */
export interface DecideFlags extends DeploymentFlags {
  readonly yes?: boolean;
}

/** `toolcrib approvals list`: the calls that wait for an approval, with all arguments. */
export async function listApprovals(flags: ListApprovalsFlags): Promise<void> {
  const all = await readDeployment(flags, ({ listApprovals: list }) => list());
  const shown = all.filter(({ tenant }) => flags.tenant === undefined || tenant === flags.tenant);
  if (flags.json) process.stdout.write(formatJson(shown.map(factsOf), 2));
  else if (shown.length === 0) process.stdout.write('No call waits to be approved.\n');
  else process.stdout.write(shown.map(describe).join('\n'));
}

/** `toolcrib approvals approve` and `deny`: decides about one call, once. */
export async function decideApproval(id: string, isApproved: boolean, flags: DecideFlags): Promise<void> {
  const { approve } = (await loadDeployment(flags.config)).config.stages;
  if (approve === false || approve.mode !== 'operator')
    throw new ToolcribError(
      'invalid_setup',
      `Nothing waits to be approved: ${flags.config} does not set stages.approve.mode to "operator".`,
    );
  await withDeployment(flags, async ({ store: { approvals } }) => {
    const asked = await approvals.find(id);
    checkOpen(id, asked);
    if (ownNames().includes(asked.caller.toLowerCase()))
      throw new ToolcribError('invalid_setup', `You asked for ${id}; somebody else has to decide.`);
    if (isApproved && !(await agrees(asked, flags))) {
      process.stdout.write('Nothing was decided.\n');
      return;
    }
    const at = Date.now();
    const by = operatorName();
    const { tenant, caller, tool } = asked;
    const did = isApproved ? 'call approved' : 'call denied';
    const row = operatorRow({ did, approval: id, tenant, caller, tool, uid: process.getuid?.() });
    const expiresAt = at + approve.expireMinutes * 60_000;
    const decided = await approvals.decide(id, { isApproved, by, at, expiresAt }, row);
    if (!decided) throw new ToolcribError('invalid_setup', `${id} was decided by somebody else meanwhile.`);
    process.stdout.write(flags.json ? formatJson(factsOf(decided), 2) : describe(decided));
  });
}

// On a terminal, the operator sees the call before the approval counts.
async function agrees(asked: Approval, { json, yes }: DecideFlags): Promise<boolean> {
  if (json || yes || !process.stdin.isTTY || !process.stdout.isTTY) return true;
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${describe(asked)}Approve it? [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

// A person has several names on a machine, and a key may be made for any of them.
function ownNames(): string[] {
  const { SUDO_USER, USER, LOGNAME } = process.env;
  return [SUDO_USER, USER, LOGNAME, userInfo().username].flatMap((name) => name?.toLowerCase() ?? []);
}

function checkOpen(id: string, asked: Approval | undefined): asserts asked is Approval {
  if (asked && !asked.decision) return;
  const text = asked
    ? `${id} was ${statusOf(asked)} before.`
    : `No call waits as "${printable(id).slice(0, 80)}": it was made, or has run out; see: toolcrib approvals list`;
  throw new ToolcribError('invalid_setup', text);
}

// Arguments are shown in full and escaped: nobody can approve what is cut off or invisible.
function describe(approval: Approval): string {
  const { id, tool, caller, tenant, expiresAt, arguments: args } = approval;
  const asked = `${printable(tool)} for ${printable(caller)} of ${printable(tenant)}`;
  return [
    `${id}  ${statusOf(approval)} until ${formatTime(expiresAt)}  ${asked}`,
    `  ${escapeUnseen(args)}`,
    '',
  ].join('\n');
}

function statusOf({ decision }: Approval): string {
  if (!decision) return 'waits';
  return `${decision.isApproved ? 'approved' : 'denied'} by ${printable(decision.by)}`;
}

function factsOf({ owner: _owner, subject: _subject, arguments: args, ...approval }: Approval): object {
  return { ...approval, arguments: parseJson(args) };
}
