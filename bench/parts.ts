import type { Bench } from './measure.ts';
import { callPart } from './parts/call.ts';
import { clientPart } from './parts/client.ts';
import { gatewayPart } from './parts/gateway.ts';
import { gatewaySizePart } from './parts/gateway-size.ts';
import { governedGrowthPart } from './parts/governed-growth.ts';
import { governedPacePart } from './parts/governed-pace.ts';
import { governedPart } from './parts/governed.ts';
import { growthPart } from './parts/growth.ts';
import { hostPart } from './parts/host.ts';
import { listPart } from './parts/list.ts';
import { sessionPart } from './parts/session.ts';
import { startPart } from './parts/start.ts';
import { stdioPart } from './parts/stdio.ts';
import { streamsPart } from './parts/streams.ts';
import type { PartResult } from './report.ts';

/** Every part of the bench, by the name that `--only` takes, in the order of the report. */
export const parts: Readonly<Record<string, (bench: Bench) => Promise<PartResult>>> = {
  call: callPart,
  list: listPart,
  growth: growthPart,
  stdio: stdioPart,
  start: startPart,
  session: sessionPart,
  streams: streamsPart,
  governed: governedPart,
  'governed-growth': governedGrowthPart,
  'governed-pace': governedPacePart,
  client: clientPart,
  host: hostPart,
  gateway: gatewayPart,
  'gateway-size': gatewaySizePart,
};
