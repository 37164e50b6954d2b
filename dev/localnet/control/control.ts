import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, Order, OrderName } from './orders.ts';
import { Status } from './orders.ts';

const PATIENCE_MS = 30_000;

/** A fault that was switched on. */
export interface ActiveFault {
  readonly id: number;
  /** How often it has struck. */
  hits(): Promise<number>;
  clear(): Promise<void>;
}

/** Orders to a localnet, over its control endpoint. */
export class LocalnetControl {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async status(): Promise<Status> {
    return Status.parse(await this.#order('status', {}));
  }

  /** Switches a fault on. */
  async fault(fault: Fault): Promise<ActiveFault> {
    const { id } = (await this.#order('fault', fault)) as { id: number };
    return {
      id,
      hits: async () => (await this.status()).faults.find((active) => active.id === id)?.hits ?? 0,
      clear: () => this.#do('clear', { id }),
    };
  }

  /** Switches every fault off: rules, lags, purged history, the beacon's, a paused clock, an offset time; what was to land late never does. */
  clear(): Promise<void> {
    return this.#do('clear', {});
  }

  /** Goes on `slots` slots at once, each with an empty block. */
  advance(slots: number): Promise<void> {
    return this.#do('advance', { slots });
  }

  /** The next `slots` slots have no block. */
  skip(slots: number): Promise<void> {
    return this.#do('skip', { slots });
  }

  /** Stops slots; transactions still land in the slot that is. */
  pause(): Promise<void> {
    return this.#do('pause', {});
  }

  resume(): Promise<void> {
    return this.#do('resume', {});
  }

  /** Sets the cluster's and the beacon's clock off from the real one, ms. */
  setOffset(offsetMs: number): Promise<void> {
    return this.#do('time', { offsetMs });
  }

  /** Sets the cluster's and the beacon's clock. */
  setTime(at: Date): Promise<void> {
    return this.#do('time', { at: at.toISOString() });
  }

  /** Makes the block of a transaction that is not yet final, and those after it, a minority's: the transaction is gone. */
  fork(signature: string): Promise<void> {
    return this.#do('fork', { signature });
  }

  /** Makes a node lag. */
  lag(slots: number, node: 'first' | 'second' = 'first'): Promise<void> {
    return this.#do('lag', { slots, node });
  }

  /** Takes history before a slot (without one: all of it) from a node. */
  purge(before?: number, node: 'first' | 'second' = 'first'): Promise<void> {
    return this.#do('purge', { node, ...(before === undefined ? {} : { before }) });
  }

  /** Writes accounts from outside of any transaction. */
  setAccounts(accounts: Order<'accounts'>['accounts']): Promise<void> {
    return this.#do('accounts', { accounts });
  }

  /** Freezes or thaws a token account, whoever its mint's freeze authority is. */
  freeze(tokenAccount: string, frozen = true): Promise<void> {
    return this.#do('freeze', { tokenAccount, frozen });
  }

  /** Stops the beacon, delays its answers, or lets it sign wrongly. */
  beacon(how: Order<'beacon'>): Promise<void> {
    return this.#do('beacon', how);
  }

  /** Waits until a slot is finalized. */
  async finalized(slot: number): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    for (let status = await this.status(); status.finalizedSlot < slot; status = await this.status()) {
      if (Date.now() > end) throw new Error(`localnet: slot ${slot} is not final after ${PATIENCE_MS / 1000} s`);
      await sleep(5);
    }
  }

  async #do<Name extends OrderName>(name: Name, order: Order<Name>): Promise<void> {
    await this.#order(name, order);
  }

  async #order<Name extends OrderName>(name: Name, order: Order<Name>): Promise<unknown> {
    const response = await fetch(`${this.#url}/control/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`localnet: ${name}: ${text}`);
    return JSON.parse(text);
  }
}
