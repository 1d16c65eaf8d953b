import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/gateway/settings/config.ts';
import { faultTools } from './fault-tools.ts';
import { within } from '../within.ts';
import { eventually } from './scenario.ts';

/** The command that is tried: the built one, unless another is named. */
export const cli = process.env['TOOLCRIB_CLI'] ?? join(import.meta.dirname, '../../dist/cli/main.js');

// A full record takes minutes to be verified.
const COMMAND_MS = 600_000;
// The drain takes 30 seconds.
const END_MS = 90_000;

/** A row of the record, as `toolcrib audit export` writes it. */
export interface Row {
  readonly chain: string;
  readonly seq: number;
  readonly kind: string;
  readonly call?: string;
  readonly tool?: string;
  readonly outcome?: string;
  readonly policy?: string;
  readonly preview?: string;
  readonly count?: number;
}

/** What `toolcrib audit verify --json` says. */
export interface Verdict {
  readonly problem?: { readonly what: string };
  readonly rows: number;
  readonly checkpoints: number;
}

/** Somebody with a key. */
export interface Person {
  readonly tenant: string;
  readonly caller: string;
}

/** A new key and its id. */
export interface Admitted {
  readonly id: string;
  readonly key: string;
}

/** A deployment in a folder of its own: a configuration, tools, and everything a server leaves behind. */
export class Crib {
  readonly folder: string;
  readonly #running = new Set<Serving>();

  /** Makes a deployment without limits on calls and requests, whose rows show arguments, unless it is configured. */
  constructor(config: ConfigInput = {}, folder = mkdtempSync(join(tmpdir(), 'toolcrib-fault-'))) {
    this.folder = folder;
    mkdirSync(join(folder, 'tools'), { recursive: true });
    writeFileSync(join(folder, 'tools/fault-tools.mjs'), faultTools(this.path('notes')));
    this.configure(config);
  }

  /** A file of the deployment. */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Puts a configuration in place, in one step as careful editors do. */
  configure(config: ConfigInput): void {
    const { stages, server, ...rest } = config;
    const whole: ConfigInput = {
      server: { listen: '127.0.0.1:0', requestsPerMinute: 1_000_000_000, ...server },
      tools: { modules: ['./tools/*.mjs'] },
      stages: {
        audit: { arguments: 'preview' },
        rateLimit: false,
        circuitBreak: false,
        concurrency: { perCaller: 100_000, perTenant: 100_000, queue: 100_000 },
        ...stages,
      },
      ...rest,
    };
    this.write(JSON.stringify(whole, undefined, 2));
  }

  /** Puts any text in the place of the configuration. */
  write(text: string): void {
    writeFileSync(this.path('toolcrib.yaml.new'), text);
    renameSync(this.path('toolcrib.yaml.new'), this.path('toolcrib.yaml'));
  }

  /** Makes tenants and keys, one key a person, as an operator does. */
  async admit(people: readonly Person[]): Promise<Admitted[]> {
    for (const tenant of new Set(people.map(({ tenant: id }) => id)))
      await this.#must('tenants', 'create', tenant);
    const admitted: Admitted[] = [];
    for (const { tenant, caller } of people) {
      const flags = ['--tenant', tenant, '--caller', caller, '--role', 'tester', '--json'];
      admitted.push(JSON.parse(await this.#must('keys', 'create', ...flags)) as Admitted);
    }
    return admitted;
  }

  async #must(...args: readonly string[]): Promise<string> {
    const { code, output, complaints } = await this.command(...args);
    if (code !== 0) throw new Error(`toolcrib ${args.join(' ')} failed: ${complaints}`);
    return output;
  }

  /** Starts the built server and waits until it takes calls; `under` is a command that runs it, such as a tracer. */
  async start(under: readonly string[] = []): Promise<Serving> {
    const serving = await Serving.start([
      ...under,
      process.execPath,
      cli,
      'serve',
      '--config',
      this.path('toolcrib.yaml'),
    ]);
    this.#running.add(serving);
    return serving;
  }

  /** Runs another command of the deployment. */
  async command(
    ...args: readonly string[]
  ): Promise<{ code: number | null; output: string; complaints: string }> {
    const child = spawn(process.execPath, [cli, ...args, '--config', this.path('toolcrib.yaml')]);
    const output: Buffer[] = [];
    const complaints: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
    const ended = within(COMMAND_MS, `toolcrib ${args.join(' ')}`, once(child, 'close'));
    const [code] = (await ended.finally(() => child.kill('SIGKILL'))) as [number | null];
    return {
      code,
      output: Buffer.concat(output).toString(),
      complaints: Buffer.concat(complaints).toString(),
    };
  }

  /** Checks the record; the failures are what is wrong with it. */
  async verify(): Promise<{ verdict: Verdict | undefined; failures: string[] }> {
    const { code, output, complaints } = await this.command('audit', 'verify', '--json');
    const verdict = output === '' ? undefined : (JSON.parse(output) as Verdict);
    if (code === 0 && verdict && !verdict.problem) return { verdict, failures: [] };
    return {
      verdict,
      failures: [`the record does not verify: ${verdict?.problem?.what ?? complaints.slice(0, 500)}`],
    };
  }

  /** Every row of the record. */
  async rows(): Promise<Row[]> {
    const { code, output, complaints } = await this.command('audit', 'export');
    if (code !== 0) throw new Error(`audit export failed: ${complaints}`);
    return output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);
  }

  /** What the tools did, one line an effect. */
  notes(): string[] {
    const file = this.path('notes');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  }

  /** Ends every server. */
  async stop(): Promise<void> {
    for (const serving of this.#running) await serving.kill();
  }

  /** Ends every server and removes the folder. */
  async close(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A server in a process of its own. */
export class Serving {
  readonly child: ChildProcess;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  port = 0;
  /** Of the server itself, even when another command runs it. */
  pid = 0;
  /** How long it took to take calls. */
  readyMs = 0;
  #output = '';
  #log = '';

  private constructor(command: readonly string[]) {
    const [program, ...args] = command;
    this.child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.exit = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text;
    });
  }

  /** What it wrote to standard error. */
  get log(): string {
    return this.#log;
  }

  /** What it wrote to standard output. */
  get output(): string {
    return this.#output;
  }

  static async start(command: readonly string[]): Promise<Serving> {
    const startedAt = performance.now();
    const serving = new Serving(command);
    let isOver = false;
    void serving.exit.then(() => (isOver = true));
    await eventually(
      'the server starts',
      () => {
        if (isOver) throw new Error(`The server did not start: ${serving.#output}${serving.#log}`);
        return /Ctrl-C stops it/.test(serving.#output);
      },
      30_000,
    );
    serving.port = Number(/http:\/\/127\.0\.0\.1:(\d+)\//.exec(serving.#output)![1]);
    serving.pid = command[0] === process.execPath ? serving.child.pid! : childOf(serving.child.pid!);
    await eventually('the server is ready', async () => (await serving.look('/readyz')) === 200, 30_000);
    serving.readyMs = performance.now() - startedAt;
    return serving;
  }

  /** The status of a path; 0 when there is no answer. */
  look(path: string, limitMs = 5_000): Promise<number> {
    return new Promise((resolve) => {
      const asked = request(
        { host: '127.0.0.1', port: this.port, path, agent: false, timeout: limitMs },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
          response.on('error', () => resolve(0));
        },
      );
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      asked.on('error', () => resolve(0));
      asked.end();
    });
  }

  /** How many files and sockets it has open. */
  get descriptors(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** How it ended, which it has to do by itself. */
  ended(): Promise<{ readonly code: number | null; readonly signal: string | null }> {
    return within(END_MS, `the server ends: ${this.#log.slice(-500)}`, this.exit);
  }

  /** Ends it without warning, and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      if (this.pid !== 0) tryKill(this.pid);
      tryKill(this.child.pid!);
    }
    await this.ended();
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}
