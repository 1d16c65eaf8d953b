import { Secrets } from '../../observe/secrets.ts';
import type { AgentServer } from '../agent-config.ts';

const SECRET_NAME = /key|token|secret|passw|credential|authorization|cookie/i;

/** The secrets that servers are given by name, so that they are taken out of what is shown and recorded. */
export function knownSecrets(
  servers: Readonly<Record<string, AgentServer>>,
  secrets: Secrets = new Secrets(),
): Secrets {
  for (const { entry } of Object.values(servers)) {
    const given = 'url' in entry ? entry.headers : entry.env;
    for (const [name, value] of Object.entries(given)) {
      if (!SECRET_NAME.test(name)) continue;
      secrets.add(value);
      // "Bearer" and the like stand in front of the secret itself.
      const at = value.lastIndexOf(' ');
      if (at >= 0) secrets.add(value.slice(at + 1));
    }
  }
  return secrets;
}
