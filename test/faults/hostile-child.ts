import { Attack } from './attack.ts';
import { hogging, phases } from './hostile.ts';

/** The messages to the hostile tenant: its target and caller, and then each phase, or the end. */
export type Order =
  | { readonly port: number; readonly keys: readonly string[] }
  | { readonly phase: string }
  | { readonly isOver: true };

/** What it tells after each phase. */
export interface Told {
  readonly sent: number;
  readonly limited: number;
  readonly streams: number;
  readonly statuses: readonly (readonly [status: number, times: number])[];
}

// A process of its own, so that it shares only the processor with the process that measures.
let target: { readonly port: number; readonly keys: readonly string[] } | undefined;
let attack: Attack | undefined;

process.on('message', (order: Order) => {
  if ('port' in order) target = order;
  else if ('phase' in order) void begin(order.phase);
  else attack?.stop();
});
// The parent process is gone.
process.on('disconnect', () => process.exit(0));

async function begin(name: string): Promise<void> {
  const current = new Attack(target!.port, target!.keys);
  attack = current;
  await [...phases, hogging].find((phase) => phase.name === name)!.run(current);
  const { sent, limited, streams, statuses } = current;
  process.send!({ sent, limited, streams, statuses: [...statuses] } satisfies Told);
}
