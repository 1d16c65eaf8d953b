import type { Receiver, Transport } from './transport.ts';

/** Told of every message of a connection, as its text; credentials are not in messages. */
export type OnMessage = (from: 'client' | 'server', text: string) => void;

/** The same transport, which tells of what it sends. */
export function tellingTransport(transport: Transport, tell: OnMessage): Transport {
  return {
    label: transport.label,
    send(exchange) {
      tell('client', exchange.outgoing.body);
      transport.send(exchange);
    },
    post(text) {
      tell('client', text);
      return transport.post(text);
    },
    abandon: transport.abandon.bind(transport),
    agree: transport.agree.bind(transport),
    ...(transport.listen && { listen: transport.listen.bind(transport) }),
    ...(transport.restart && { restart: transport.restart.bind(transport) }),
    close: () => transport.close(),
  };
}

/** The same receiver, which tells of what comes. */
export function tellingReceiver(receiver: () => Receiver, tell: OnMessage): Receiver {
  return {
    receive(message, exchange) {
      tell('server', message.toString('utf8'));
      receiver().receive(message, exchange);
    },
    lost: (error) => receiver().lost(error),
  };
}
