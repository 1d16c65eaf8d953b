import { join } from 'node:path';
import { ToolcribError } from '../base/errors.ts';
import type { Finding, Severity } from '../lint/finding.ts';
import { lintTools, ruleIds, type LintedTool, type LintReport } from '../lint/lint-tools.ts';
import type { ServerFlags } from './client/target.ts';
import { collectTools } from './collect-tools.ts';
import { standardOutput } from './output.ts';
import { packageFolder } from './package-version.ts';
import { formatJson, printable } from './table.ts';

// The whole path, because the page is in this package and the command is run elsewhere.
const PAGE = join(packageFolder, 'docs/lint.md');

/** Options of `toolcrib lint`. */
export interface LintFlags extends Omit<ServerFlags, 'json'> {
  /** The command of a local server to ask. */
  readonly server?: readonly string[];
  readonly config?: string;
  readonly json?: boolean;
  /** Whether warnings fail too. */
  readonly strict?: boolean;
  /** Rules to ignore, separated by commas. */
  readonly ignore?: string;
}

/** `toolcrib lint`: says what makes tools hard to choose, to call or to list. */
export async function lint(files: readonly string[], flags: LintFlags): Promise<void> {
  const ignore = readIgnored(flags.ignore);
  const { tools, problems } = await collectTools(files, flags);
  const report = lintTools(tools, { ignore });
  const isGood =
    problems.length === 0 && report.counts.error === 0 && !(flags.strict && report.counts.warning > 0);
  const { counts, tokens, findings, tools: linted } = report;
  const text = flags.json
    ? formatJson({ ok: isGood, counts, tokens, problems, findings, tools: linted }, 2)
    : `${forPeople(report, problems)}\n`;
  standardOutput().write(text);
  if (!isGood) process.exitCode = 1;
}

function readIgnored(text = ''): readonly string[] {
  const ids = text.split(',').flatMap((id) => id.trim() || []);
  const unknown = ids.find((id) => !ruleIds.includes(id));
  if (unknown === undefined) return ids;
  throw new ToolcribError(
    'invalid_setup',
    `--ignore takes rules of ${PAGE} separated by commas, such as name-verb,size-tool; there is no rule "${unknown}".`,
  );
}

function forPeople({ tools, findings, tokens, counts }: LintReport, problems: readonly string[]): string {
  const parts = [
    ...problems.map((problem) => `${paint('error', 'error')}  ${printable(problem)}`),
    ...tools.map(describe),
    ...(findings.length > 0 ? [['all tools together', ...findings.map(lineOf)].join('\n')] : []),
  ];
  const total = `${count(tools.length, 'tool')}, about ${count(tokens, 'token')}: ${summary(counts, problems.length)}.`;
  const isClean = counts.error + counts.warning + counts.hint === 0;
  return [...parts, total, ...(isClean ? [] : [`${PAGE} explains each rule under its name.`])].join('\n');
}

function describe({ name, tokens, findings }: LintedTool): string {
  const heading = `${printable(name) || '(no name)'}  about ${count(tokens, 'token')}${findings.length === 0 ? ', clean' : ''}`;
  return [heading, ...findings.map(lineOf)].join('\n');
}

const SEVERITY_WIDTH = 'warning'.length;
const RULE_WIDTH = Math.max(...ruleIds.map((id) => id.length));

function lineOf({ severity, rule, message, path }: Finding): string {
  const place = path === undefined ? '' : `  [${printable(path)}]`;
  return `  ${paint(severity, severity.padEnd(SEVERITY_WIDTH))}  ${rule.padEnd(RULE_WIDTH)}  ${printable(message)}${place}`;
}

function summary({ error, warning, hint }: LintReport['counts'], problems: number): string {
  if (error + warning + hint + problems === 0) return 'clean';
  const files = problems > 0 ? `${count(problems, 'file')} that cannot be used, ` : '';
  return `${files}${count(error, 'error')}, ${count(warning, 'warning')}, ${count(hint, 'hint')}`;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

const COLOURS: Readonly<Record<Severity, number>> = { error: 31, warning: 33, hint: 36 };

// No colours if the output is not a terminal.
function paint(severity: Severity, text: string): string {
  return process.stdout.isTTY && !process.env['NO_COLOR']
    ? `\u001B[${COLOURS[severity]}m${text}\u001B[0m`
    : text;
}
