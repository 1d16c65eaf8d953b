/** Says on the terminal what the run is doing, apart from its results. */
export function progress(line: string): void {
  process.stderr.write(`  ${line}\n`);
}
