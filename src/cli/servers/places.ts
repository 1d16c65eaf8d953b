import { homedir } from 'node:os';
import { join } from 'node:path';

/** The home of the user. */
export function homeFolder(): string {
  return process.env['HOME'] ?? homedir();
}

/** Where programs keep settings of the user. */
export function settingsFolder(): string {
  return process.env['XDG_CONFIG_HOME'] ?? join(homeFolder(), '.config');
}

/** Where tokens of servers are kept; a folder for its owner alone. */
export function credentialsFolder(): string {
  return join(settingsFolder(), 'toolcrib/credentials');
}
