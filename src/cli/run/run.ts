import { ToolcribError } from '../../base/errors.ts';
import type { Agent } from '../../host/agent.ts';
import type { SafetyMode } from '../../host/agent-config.ts';
import { Conversation } from '../../host/loop/conversation.ts';
import { recordRun } from '../../host/loop/record-run.ts';
import { readRecord, replay } from '../../host/loop/replay.ts';
import type { AgentRun, RunSink, RunUsage } from '../../host/loop/run-events.ts';
import { Secrets } from '../../observe/secrets.ts';
import { ask, canAsk } from '../client/ask.ts';
import { exitCodes } from '../client/exit-codes.ts';
import { watchInterrupts, type Interrupts } from '../client/interrupts.ts';
import { reportFailure } from '../client/with-client.ts';
import { complain, valuesWithoutConcealed } from '../complain.ts';
import { packageVersion } from '../package-version.ts';
import type { Grant } from '../../stages/approve/grants.ts';
import { formatJson, formatTime, printableLines } from '../table.ts';
import { atTheTerminal } from './at-the-terminal.ts';
import { openAgents, type OpenedAgents } from './open-agent.ts';
import { readAgents, type ReadAgent, type ReadAgentFlags } from './read-agents.ts';
import { sumUsage, usageLine } from './run-line.ts';
import { createRunView } from './run-view.ts';
import { readUserModels, type UserModels } from './user-models.ts';

/** Options of `toolcrib run`. */
export interface RunFlags extends ReadAgentFlags {
  readonly json?: boolean;
  readonly mode?: SafetyMode;
  readonly yesReadOnly?: boolean;
  readonly maxCalls?: number;
  readonly record?: string;
  readonly replay?: string;
}

/** `toolcrib run`: has an agent answer a question, or talks with it. */
export async function run(reference: string, question: string | undefined, flags: RunFlags): Promise<void> {
  const interrupts = watchInterrupts();
  const view = createRunView({ out: process.stdout, status: process.stderr, now: () => performance.now() });
  const closing: (() => Promise<void> | void)[] = [() => view.close(), interrupts.stop];
  try {
    if (question === undefined && !canAsk())
      throw new ToolcribError('invalid_setup', 'Say what to ask: toolcrib run AGENT "question".');
    const user = await readUserModels();
    const read = await readAgents(reference, { flags, user, modelOf: replayed(flags) });
    const person = atTheTerminal(view, {
      isYesToReading: flags.yesReadOnly === true,
      onEnd: () => interrupts.cancel(),
    });
    const secrets = secretsOf(read);
    const opened = await openAgents(read, { ...person, secrets, mode: flags.mode ?? 'balanced' });
    closing.push(opened.close);
    checkServers(opened.agent);
    const record = flags.record === undefined ? undefined : recorderFor(flags.record, secrets);
    if (record) closing.push(record.close);
    const conversation = talkWith(opened, read, {
      user,
      flags,
      onSkill: person.onSkill,
      record: record?.record,
      onEvent: flags.json === true ? printEvent : view.onEvent,
    });
    await converse(conversation, question, { interrupts, flags, agent: opened.agent });
  } catch (error) {
    view.close();
    reportFailure(error, flags);
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

const printEvent: RunSink = (event) => void process.stdout.write(formatJson(valuesWithoutConcealed(event)));

function replayed({
  replay: file,
}: RunFlags): ((config: { readonly name: string }) => ReturnType<typeof replay>) | undefined {
  if (file === undefined) return undefined;
  const record = readRecord(file);
  if (record.isCutOff) complain(`${file} was cut off; the run ends where it does.`);
  let isFirst = true;
  return ({ name }) => {
    const model = replay(record, isFirst ? {} : { agent: name });
    isFirst = false;
    return model;
  };
}

function secretsOf(read: ReadAgent): Secrets {
  const secrets = new Secrets();
  const seen = new Set<ReadAgent>();
  const add = (one: ReadAgent): void => {
    if (seen.has(one)) return;
    seen.add(one);
    for (const secret of one.secrets) secrets.add(secret);
    one.agents.forEach(add);
  };
  add(read);
  return secrets;
}

function recorderFor(file: string, secrets: Secrets): ReturnType<typeof recordRun> {
  return recordRun(file, { secrets, versions: { toolcrib: packageVersion() } });
}

// A server without a sign-in would look as if it had no tools.
function checkServers({ servers, config }: Agent): void {
  for (const { name, state } of servers) {
    if (state.kind === 'needs_sign_in') {
      const entry = config.servers[name]?.entry;
      const login = entry && 'url' in entry ? ` Run toolcrib login ${entry.url}` : '';
      throw new ToolcribError('needs_sign_in', `${name}: ${state.reason} ${state.remedy}${login}`);
    }
    if (state.kind === 'failed') complain(`${name} cannot be used: ${state.reason} ${state.remedy}`);
  }
}

interface Talk {
  readonly user: UserModels;
  readonly flags: RunFlags;
  readonly onSkill: ReturnType<typeof atTheTerminal>['onSkill'];
  readonly record: RunSink | undefined;
  readonly onEvent: RunSink;
}

function talkWith({ agent, agents }: OpenedAgents, { model }: ReadAgent, talk: Talk): Conversation {
  const { user, flags, onSkill, record, onEvent } = talk;
  return new Conversation(agent, {
    model,
    agents,
    onEvent,
    prices: user.prices,
    ...(record && { record }),
    ...(onSkill && { onSkill }),
    ...(flags.maxCalls !== undefined && { limits: { calls: flags.maxCalls } }),
  });
}

interface Around {
  readonly interrupts: Interrupts;
  readonly flags: RunFlags;
  readonly agent: Agent;
}

async function converse(
  conversation: Conversation,
  question: string | undefined,
  around: Around,
): Promise<void> {
  const { interrupts, flags, agent } = around;
  let total: RunUsage | undefined;
  for (let next = question; ; next = undefined) {
    const said = next ?? (await ask('\n> '));
    if (said === undefined || said.trim() === '/quit') break;
    if (said.trim() === '') continue;
    if (said.startsWith('/')) {
      process.stderr.write(`${printableLines(answerCommand(said.trim(), agent))}\n`);
      continue;
    }
    const answered = await conversation.say(said, { signal: interrupts.begin() });
    interrupts.end();
    total = total ? sumUsage(total, answered.usage) : answered.usage;
    report(answered);
    if (question !== undefined) break;
  }
  if (total && flags.json !== true) process.stderr.write(`${usageLine(total)}\n`);
}

function answerCommand(command: string, agent: Agent): string {
  const [name, id = ''] = command.split(/\s+/);
  switch (name) {
    case '/tools':
      return agent.describeExposedTools();
    case '/allowed': {
      const grants = agent.grants.list().map(grantLine);
      return grants.length > 0 ? grants.join('\n') : 'Nothing is allowed without asking.';
    }
    case '/revoke':
      return agent.grants.revoke(id) ? 'It is asked for again.' : 'There is no such id; /allowed shows them.';
    default:
      return 'There are /tools, /allowed, /revoke ID and /quit.';
  }
}

function grantLine({ id, scope, server, tools, arguments: args, expiresAt }: Grant): string {
  const what = scope === 'server' ? `every tool of ${server ?? 'this program'}` : tools.join(', ');
  const only = args === undefined ? '' : ` with ${JSON.stringify(args)}`;
  return `${id}  ${what}${only}, until ${formatTime(expiresAt)}`;
}

function report({ ending }: AgentRun): void {
  if ('message' in ending && ending.kind !== 'refused') complain(ending.message);
  process.exitCode = {
    finished: exitCodes.done,
    limit: exitCodes.limitReached,
    refused: exitCodes.refused,
    invalid_output: exitCodes.failed,
    cancelled: exitCodes.interrupted,
  }[ending.kind];
}
