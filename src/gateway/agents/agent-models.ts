import { ToolcribError } from '../../base/errors.ts';
import type { Complaint } from '../../config/complaint.ts';
import { agentConfig } from '../../host/files/own-agent.ts';
import { resolveModel, type ResolvedModel } from '../../host/models/resolve-model.ts';
import type { LoadedConfig } from '../settings/load-config.ts';

/** Finds agents that callers may ask, and whose model nothing leads to. */
export function modelComplaints(loaded: LoadedConfig): Complaint[] {
  return Object.entries(loaded.config.agents ?? {}).flatMap(([name, entry]) => {
    if (entry.serve === false) return [];
    const path = ['agents', name, 'model'];
    const found = resolved(agentConfig(name, entry).model);
    if (!found)
      return [
        loaded.complain(path, {
          message: 'names a model that nothing here knows',
          remedy: 'write its keys: name, with api or baseUrl',
          severity: 'error',
        }),
      ];
    const { keyVariable } = found;
    if (keyVariable === undefined || (process.env[keyVariable] ?? '') !== '') return [];
    const message = `needs a key in ${keyVariable}, which is not set`;
    return [loaded.complain(path, { message, remedy: 'set the variable', severity: 'warning' })];
  });
}

/** The keys that agents send to their models, which must not be shown. */
export function modelKeys({ config }: LoadedConfig): string[] {
  return Object.entries(config.agents ?? {}).flatMap(([name, entry]) => {
    const variable =
      entry.serve === false ? undefined : resolved(agentConfig(name, entry).model)?.keyVariable;
    const key = variable === undefined ? undefined : process.env[variable]?.trim();
    return key === undefined || key === '' ? [] : [key];
  });
}

function resolved(model: Parameters<typeof resolveModel>[0]): ResolvedModel | undefined {
  try {
    return resolveModel(model);
  } catch (error) {
    if (error instanceof ToolcribError) return undefined;
    throw error;
  }
}
