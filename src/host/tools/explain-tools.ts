import { cleanText } from '../../observe/clean-text.ts';
import type { ConnectionState } from '../../client/state.ts';
import type { Tool } from '../../core/tool.ts';
import type { SafetyMode } from '../../stages/approve/decision.ts';
import { verdictOn, type Verdict } from '../../stages/approve/which-calls.ts';
import type { AgentServerView, AvailableTool, ToolExplanation } from '../agent.ts';
import { estimateTokens } from '../models/estimate-tokens.ts';
import type { HeldBack } from './server-source.ts';

/** The facts that explain the tools of an agent. */
export interface Exposure {
  readonly published: readonly AvailableTool[];
  readonly latest: ReadonlyMap<string, Tool>;
  readonly modes: readonly SafetyMode[];
  readonly servers: readonly AgentServerView[];
  readonly heldBack: (server: string) => readonly HeldBack[];
}

/** Every tool of an agent: whether the model sees it, what happens to a call of it, and why. */
export function explainTools({
  published,
  latest,
  modes,
  servers,
  heldBack,
}: Exposure): readonly ToolExplanation[] {
  const seen = published.map((shown): ToolExplanation => {
    const { from, name } = shown;
    const tool = latest.get(name);
    return {
      server: from.source,
      name: from.name,
      shownAs: name,
      verdict: tool && verdictOn(tool, modes),
      reason: tool ? reasonOf(shown, verdictOn(tool, modes)) : 'its server no longer has it',
    };
  });
  const unseen = servers.flatMap(({ name: server }) =>
    heldBack(server).map(({ name, reason }): ToolExplanation => ({
      server,
      name,
      shownAs: undefined,
      verdict: undefined,
      reason,
    })),
  );
  return [...seen, ...unseen];
}

/** The same for people, as text that is safe to print. */
export function describeExposure(agent: string, exposure: Exposure): string {
  const all = explainTools(exposure);
  const { published, modes, servers } = exposure;
  const tokens = published.reduce((sum, tool) => sum + estimateTokens(definitionOf(tool)), 0);
  const lines = [
    `${agent}: ${published.length} ${published.length === 1 ? 'tool' : 'tools'}, about ${tokens} tokens. Mode: ${modes.join(' and ')}.`,
  ];
  const groups = [undefined, ...servers.map(({ name }) => name)];
  for (const server of groups) {
    const own = all.filter((tool) => tool.server === server);
    const view = servers.find(({ name }) => name === server);
    if (!view && own.length === 0) continue;
    lines.push('', headOf(view));
    for (const tool of own) lines.push(lineOf(tool, published));
  }
  return `${lines.map((line) => cleanText(line).replaceAll('\n', ' ')).join('\n')}\n`;
}

function definitionOf({ name, description, inputSchema }: AvailableTool): object {
  return { name, description, inputSchema };
}

function reasonOf({ isTrusted, annotations }: AvailableTool, verdict: Verdict): string {
  const says = annotations?.readOnlyHint === true;
  if (verdict === 'run') return says ? 'says it is read-only, and is trusted' : 'the mode asks for nothing';
  if (says && !isTrusted) return 'says it is read-only, but its server is not trusted';
  return says ? 'the mode asks for everything' : 'may change something';
}

function headOf(view: AgentServerView | undefined): string {
  if (!view) return 'of this process';
  return `${view.name} (${view.config.trust}): ${stateText(view.state)}`;
}

function stateText(state: ConnectionState): string {
  return 'reason' in state ? `${state.kind}. ${state.reason} ${state.remedy}` : state.kind;
}

const WORDS: Readonly<Record<Verdict, string>> = { run: 'runs', ask: 'asks', refuse: 'refused' };
const MAX_SHOWN = 80;

function lineOf(
  { name, shownAs, verdict, reason }: ToolExplanation,
  published: readonly AvailableTool[],
): string {
  if (shownAs === undefined) return `  - ${name}: not shown; ${reason}`;
  const described = published.find((tool) => tool.name === shownAs)?.description ?? '';
  const first = described.split('\n')[0]!;
  const about = first.length > MAX_SHOWN ? `${first.slice(0, MAX_SHOWN)}…` : first;
  const alias = shownAs === name ? '' : ` (${name})`;
  return `  + ${shownAs}${alias}: ${verdict ? `${WORDS[verdict]}, ` : ''}${reason}. ${about}`;
}
