import type { Change } from '../../core/source.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import type { Announcer } from './announcer.ts';
import type { Session } from './session.ts';

/** Lets a session's client hear of changes unasked, as the handshake revisions do it, until the session ends. */
export function announceTo(session: Session, announcer: Announcer): void {
  const quit = announcer.join({
    caller: session.caller,
    follows: (uri) => session.subscriptions.has(uri),
    hear: (change) => hear(session, change),
  });
  session.onEnd = quit;
}

function hear(session: Session, change: Change): void {
  switch (change.kind) {
    case 'tools':
    case 'resources':
    case 'prompts':
      session.unasked.send(encodeNotification(`notifications/${change.kind}/list_changed`));
      break;
    case 'resource':
      session.unasked.send(encodeNotification('notifications/resources/updated', { uri: change.uri }));
      break;
  }
}
