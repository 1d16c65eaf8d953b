/** The part of autocannon that the bench uses; the package ships no types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly requests?: readonly { readonly headers: Readonly<Record<string, string>> }[];
    readonly timeout: number;
  }

  interface Result {
    readonly duration: number;
    readonly requests: { readonly total: number };
    readonly latency: { readonly p50: number; readonly p99: number };
    readonly errors: number;
    readonly timeouts: number;
    readonly non2xx: number;
  }

  export default function autocannon(options: Options): Promise<Result>;
}
