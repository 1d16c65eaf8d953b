import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The home of the user. */
export function homeFolder(): string {
  return process.env['HOME'] ?? homedir();
}

/** Where programs keep settings of the user. */
export function settingsFolder(): string {
  const named = process.env['XDG_CONFIG_HOME'];
  // A relative one would be a folder of the project, whose files must not agree to themselves.
  return named !== undefined && isAbsolute(named) ? named : join(homeFolder(), '.config');
}

/** Where tokens of servers are kept; a folder for its owner alone. */
export function credentialsFolder(): string {
  return join(settingsFolder(), 'toolcrib/credentials');
}
