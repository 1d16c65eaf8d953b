import { holders, type Crib, type Holder } from '../gateway.ts';
import { Client, type Reply, type RequestOptions } from './client.ts';

/** A client of a gateway with somebody's key. */
export class KeyClient extends Client {
  readonly holder: Holder;
  readonly #keys: Crib['keys'];

  constructor(crib: Pick<Crib, 'port' | 'keys'>, holder: Holder) {
    const { id, tenant, roles, scopes } = holders[holder];
    super(crib, { id, tenant: { id: tenant, name: tenant, data: {} }, roles, scopes });
    this.holder = holder;
    this.#keys = crib.keys;
  }

  override send(options: RequestOptions): Promise<Reply> {
    return super.send(this.#signed(options));
  }

  override open(options: RequestOptions): Promise<Response> {
    return super.open(this.#signed(options));
  }

  #signed({ headers, ...options }: RequestOptions): RequestOptions {
    return { ...options, headers: { authorization: `Bearer ${this.#keys[this.holder]}`, ...headers } };
  }
}
