import { ToolcribError } from '../base/errors.ts';

/** A metric with its samples. */
export interface Family {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Each sample as text, without the name. */
  samples(): Iterable<string>;
}

/** One series of a counter; it only grows. */
export class Counter {
  value = 0;

  /** Adds one, or more; values of zero or less are ignored. */
  inc(by = 1): void {
    if (by > 0) this.value += by;
  }
}

/** One series of a gauge; it goes up and down. */
export class Gauge {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }

  dec(by = 1): void {
    this.value -= by;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** One series of a histogram. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** Count per bucket; the last one is for values above all bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    // One NaN would spoil the sum for good.
    if (Number.isNaN(value)) return;
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > bounds[index]!) index++;
    this.counts[index]!++;
    this.sum += value;
  }
}

/**
 * The series of one metric, one per combination of label values. Look a child up once and keep it: counting then
 * costs nanoseconds.
 */
export interface Series<Child> extends Family {
  /**
   * The series for these label values, in the order of the label names; above the limit all new ones share the
   * one labelled `other`.
   */
  child(...values: readonly string[]): Child;
  /** Shows the series for these label values before anything is counted in it; until then it takes no memory. */
  announce(...values: readonly string[]): void;
}

/** The labels and buckets of a histogram. */
export interface HistogramOptions {
  readonly labelNames?: readonly string[];
  /** Upper bounds in ascending order; +Inf is added. */
  readonly buckets: readonly number[];
}

/** The most series a metric may have, `other` included. */
export const MAX_CHILDREN = 10_000;

/**
 * The metrics of one process, in Prometheus form. They outlive a reload: asking again for a metric returns the
 * same one.
 */
export class Metrics {
  readonly #families = new Map<string, Family>();

  counter(name: string, help: string, labelNames: readonly string[] = []): Series<Counter> {
    const make = (): Counter => new Counter();
    return this.#keep(new LabelledFamily({ name, kind: 'counter', help, labelNames, make, show: showValue }));
  }

  /** A gauge that is set, or one that is read on each scrape. */
  gauge(name: string, help: string, read: () => number): Family;
  gauge(name: string, help: string, labelNames?: readonly string[]): Series<Gauge>;
  gauge(name: string, help: string, source: readonly string[] | (() => number) = []): Family {
    checkName(name);
    if (typeof source === 'function') return this.add(readFamily({ name, kind: 'gauge', help }, source));
    const make = (): Gauge => new Gauge();
    return this.#keep(
      new LabelledFamily({ name, kind: 'gauge', help, labelNames: source, make, show: showValue }),
    );
  }

  /** Asking again with other buckets starts a new histogram: counts cannot be moved between sets of buckets. */
  histogram(name: string, help: string, options: HistogramOptions): Series<Histogram> {
    const { labelNames = [], buckets } = options;
    if (labelNames.includes('le')) throw invalid(`${name} cannot have a label le: its buckets have it.`);
    if (buckets.some((bound, index) => !Number.isFinite(bound) || bound <= (buckets[index - 1] ?? -Infinity)))
      throw invalid(`The buckets of ${name} must be finite and in ascending order.`);
    const bounds = [...buckets];
    const make = (): Histogram => new Histogram(bounds);
    const show = (labels: string, child: Histogram): Iterable<string> => showHistogram(labels, child, bounds);
    const variant = bounds.join(' ');
    return this.#keep(new LabelledFamily({ name, kind: 'histogram', help, labelNames, make, show, variant }));
  }

  /** Adds a metric made elsewhere; it replaces one of the same name. */
  add<F extends Family>(family: F): F {
    this.#families.set(family.name, family);
    return family;
  }

  /** All metrics, in the Prometheus text format 0.0.4. */
  text(): string {
    return [...this.#families.values()].map(showFamily).join('');
  }

  #keep<Child>(made: LabelledFamily<Child>): LabelledFamily<Child> {
    checkName(made.name);
    const known = this.#families.get(made.name);
    if (!known) return this.add(made);
    if (!(known instanceof LabelledFamily) || known.shape !== made.shape)
      throw invalid(`The metric ${made.name} already exists, of another kind or with other labels.`);
    return known.variant === made.variant ? (known as LabelledFamily<Child>) : this.add(made);
  }
}

/** A metric that is read on each scrape. */
export function readFamily(about: Omit<Family, 'samples'>, read: () => number): Family {
  return { ...about, samples: () => [` ${toNumberText(read())}`] };
}

/** A number in the Prometheus text format. */
export function toNumberText(value: number): string {
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}

// A metric that fails to read is left out, so that the others are still shown.
function showFamily(family: Family): string {
  const { name, kind, help } = family;
  try {
    const lines = Array.from(family.samples(), (sample) => `${name}${sample}\n`);
    return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n${lines.join('')}`;
  } catch {
    return '';
  }
}

interface LabelledParts<Child> extends Omit<Family, 'samples'> {
  readonly labelNames: readonly string[];
  readonly make: () => Child;
  readonly show: (labels: string, child: Child) => Iterable<string>;
  readonly variant?: string;
}

class LabelledFamily<Child> implements Series<Child> {
  readonly name: string;
  readonly kind: Family['kind'];
  readonly help: string;
  readonly shape: string;
  readonly variant: string;
  readonly #parts: LabelledParts<Child>;
  /** Those that are only announced have nothing yet. */
  readonly #children = new Map<string, Child | undefined>();

  constructor(parts: LabelledParts<Child>) {
    const { name, kind, help, labelNames, variant = '' } = parts;
    const bad = labelNames.find((label) => !/^[a-z][a-z0-9_]*$/.test(label));
    if (bad !== undefined) throw invalid(`${bad} of ${name} is not a label name: use a-z, 0-9 and _.`);
    this.name = name;
    this.kind = kind;
    this.help = help;
    this.shape = [kind, ...labelNames].join(' ');
    this.variant = variant;
    this.#parts = parts;
    // Without labels there is one series, present from the start.
    if (labelNames.length === 0) this.child();
  }

  child(...values: readonly string[]): Child {
    const labels = this.#labelsOf(values);
    const known = this.#children.get(labels);
    if (known) return known;
    const child = this.#parts.make();
    this.#children.set(labels, child);
    return child;
  }

  announce(...values: readonly string[]): void {
    const labels = this.#labelsOf(values);
    if (!this.#children.has(labels)) this.#children.set(labels, undefined);
  }

  *samples(): Iterable<string> {
    const { make, show } = this.#parts;
    const empty = make();
    for (const [labels, child = empty] of this.#children) yield* show(labels, child);
  }

  #labelsOf(values: readonly string[]): string {
    const { labelNames } = this.#parts;
    if (values.length !== labelNames.length)
      throw invalid(`${this.name} takes ${labelNames.length} label values, not ${values.length}.`);
    const labels = toLabels(labelNames, values);
    if (this.#children.has(labels) || this.#children.size < MAX_CHILDREN - 1) return labels;
    return toLabels(
      labelNames,
      labelNames.map(() => 'other'),
    );
  }
}

function showValue(labels: string, { value }: { readonly value: number }): readonly string[] {
  return [`${inBraces(labels)} ${toNumberText(value)}`];
}

function showHistogram(labels: string, child: Histogram, bounds: readonly number[]): string[] {
  const before = labels === '' ? '' : `${labels},`;
  let count = 0;
  const lines = [...bounds, Infinity].map((bound, index) => {
    count += child.counts[index]!;
    return `_bucket{${before}le="${toNumberText(bound)}"} ${count}`;
  });
  return [
    ...lines,
    `_sum${inBraces(labels)} ${toNumberText(child.sum)}`,
    `_count${inBraces(labels)} ${count}`,
  ];
}

function inBraces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function toLabels(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeValue(values[index]!)}"`).join(',');
}

// Through UTF-8 and back: lone surrogates become the same character on the wire, and a series must not appear
// twice.
function escapeValue(value: string): string {
  return Buffer.from(value)
    .toString()
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
}

function escapeHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function checkName(name: string): void {
  if (!/^toolcrib_[a-z0-9_]+$/.test(name))
    throw invalid(`${name} is not a metric name: it starts with toolcrib_ and has only a-z, 0-9 and _.`);
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('invalid_setup', message);
}
