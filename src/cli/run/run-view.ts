import type { ToolMessage } from '../../host/models/model.ts';
import type { RunEvent, RunSink } from '../../host/loop/run-events.ts';
import { CLEAR, describeProgress, hasColours, widthOf, type Screen } from '../client/progress-bar.ts';
import { printable, printableLines } from '../table.ts';
import { callLine, seconds } from './run-line.ts';

/** Where a run is shown. */
export interface RunScreens {
  /** Takes the answer. */
  readonly out: Screen;
  /** Takes everything else. */
  readonly status: Screen;
  readonly now: () => number;
}

/** Shows the progress of a run. */
export interface RunView {
  readonly onEvent: RunSink;
  /** Takes the moving line away, while a person is asked. */
  pause(): void;
  resume(): void;
  close(): void;
}

const FRAMES = Array.from('⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏');
const FRAME_MS = 100;

/** Shows the answer as it comes and a line for each call; on a terminal, calls under way have a moving line. */
export function createRunView(screens: RunScreens): RunView {
  const view = new View(screens);
  return {
    onEvent: (event) => view.show(event),
    pause: () => view.pause(),
    resume: () => view.resume(),
    close: () => view.close(),
  };
}

interface Running {
  readonly tool: string;
  line: string;
  readonly began: number;
  progress: string;
}

class View {
  readonly #screens: RunScreens;
  readonly #colours: Colours;
  readonly #running = new Map<string, Running>();
  #isMidLine = false;
  #isDrawn = false;
  #isPaused = false;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(screens: RunScreens) {
    this.#screens = screens;
    this.#colours = coloursFor(screens.status);
  }

  show(event: RunEvent): void {
    switch (event.type) {
      case 'text':
        return this.#say(printableLines(event.text));
      case 'tool:start':
        this.#running.set(keyOf(event), {
          tool: event.tool,
          line: callLine(event),
          began: this.#screens.now(),
          progress: '',
        });
        return this.#move();
      case 'tool:progress': {
        const call = this.#running.get(keyOf(event));
        if (call) call.progress = describeProgress(event.progress, { ms: 0, done: 0 });
        return this.#draw();
      }
      case 'decision:end': {
        // The call runs as the person has changed it; calls that are asked about run one after the other.
        const { decision, tool, server } = event;
        const call = [...this.#running.values()].find((one) => one.tool === tool);
        if (call && typeof decision === 'object' && decision.kind === 'edit')
          call.line = callLine({ tool, server, arguments: decision.arguments });
        return;
      }
      case 'tool:end': {
        const line = this.#running.get(keyOf(event))?.line ?? callLine(event);
        this.#running.delete(keyOf(event));
        this.#line(endLine(line, event, this.#colours));
        return this.#move();
      }
      case 'waiting':
        return this.#line(this.#colours.dim(`Waiting ${seconds(event.ms)}: ${printable(event.reason)}`));
      case 'note':
        return this.#line(this.#colours.dim(printable(event.text)));
      case 'answer':
      case 'run:end':
        return this.#endLine();
      default:
    }
  }

  pause(): void {
    this.#isPaused = true;
    this.#endLine();
    this.#move();
  }

  resume(): void {
    this.#isPaused = false;
    this.#move();
  }

  close(): void {
    this.#clear();
    clearInterval(this.#timer);
  }

  #say(text: string): void {
    this.#clear();
    this.#screens.out.write(text);
    this.#isMidLine = !text.endsWith('\n');
  }

  #line(text: string): void {
    this.#endLine();
    this.#screens.status.write(`${text}\n`);
    this.#draw();
  }

  #endLine(): void {
    this.#clear();
    if (this.#isMidLine) this.#screens.out.write('\n');
    this.#isMidLine = false;
  }

  // Begins or ends the movement, as there is something under way or not.
  #move(): void {
    clearInterval(this.#timer);
    this.#draw();
    const isMoving = this.#running.size > 0 && this.#screens.status.isTTY === true && !this.#isPaused;
    this.#timer = isMoving ? setInterval(() => this.#draw(), FRAME_MS).unref() : undefined;
  }

  #draw(): void {
    const { status, now } = this.#screens;
    const [first] = this.#running.values();
    if (status.isTTY !== true || this.#isPaused || !first) return;
    const others = this.#running.size > 1 ? ` and ${this.#running.size - 1} more` : '';
    const spinner = FRAMES[this.#frame++ % FRAMES.length]!;
    const progress = first.progress === '' ? '' : `  ${first.progress}`;
    const text = `${spinner} ${first.line}${others}${progress}  ${seconds(now() - first.began)}`;
    const letters = Array.from(text).slice(0, widthOf(status) - 1);
    status.write(`${CLEAR}${letters.join('')}`);
    this.#isDrawn = true;
  }

  #clear(): void {
    if (this.#isDrawn) this.#screens.status.write(CLEAR);
    this.#isDrawn = false;
  }
}

function keyOf({ run, id }: { readonly run: string; readonly id: string }): string {
  return `${run} ${id}`;
}

interface Colours {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly dim: (text: string) => string;
}

/** Colours for a terminal that wants them, and none elsewhere. */
export function coloursFor(screen: Screen, env: NodeJS.ProcessEnv = process.env): Colours {
  const isColoured = hasColours(screen, env);
  const paint = (code: number) => (text: string) => (isColoured ? `\u001B[${code}m${text}\u001B[0m` : text);
  return { good: paint(32), bad: paint(31), dim: paint(2) };
}

function endLine(
  line: string,
  { message, ms }: Extract<RunEvent, { type: 'tool:end' }>,
  { good, bad, dim }: Colours,
): string {
  const mark = message.isError ? bad('✗') : good('✓');
  const why = message.isError ? `: ${printable(firstTextOf(message))}` : '';
  return `${mark} ${line} ${dim(seconds(ms))}${why}`;
}

const MAX_LETTERS = 200;

// The first line of a tool's text, without the words of the host.
function firstTextOf({ content }: ToolMessage): string {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []));
  const own = texts.find((text) => text !== '' && !text.startsWith('[toolcrib:')) ?? texts[0] ?? '';
  return Array.from(own.split('\n', 1)[0] ?? '')
    .slice(0, MAX_LETTERS)
    .join('');
}
