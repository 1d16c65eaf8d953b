import type { Receiver, Transport } from './transport.ts';

/** Told of every message of a connection, as its text; credentials are not in messages. */
export type OnMessage = (from: 'client' | 'server', text: string) => void;

/** The same transport, which reports what it sends. */
export function tellingTransport(transport: Transport, tell: OnMessage): Transport {
  return {
    label: transport.label,
    send(pending) {
      tell('client', pending.outgoing.body);
      transport.send(pending);
    },
    post(text) {
      tell('client', text);
      return transport.post(text);
    },
    abandon: transport.abandon.bind(transport),
    agree: transport.agree.bind(transport),
    ...(transport.listen && { listen: transport.listen.bind(transport) }),
    get isListening() {
      return transport.isListening ?? true;
    },
    ...(transport.restart && { restart: transport.restart.bind(transport) }),
    ...(transport.errorText && { errorText: transport.errorText.bind(transport) }),
    close: () => transport.close(),
  };
}

/** The same receiver, which reports what arrives. */
export function tellingReceiver(receiver: () => Receiver, tell: OnMessage): Receiver {
  return {
    receive(message, pending) {
      tell('server', message.toString('utf8'));
      receiver().receive(message, pending);
    },
    lost: (error) => receiver().lost(error),
  };
}
