import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, CommandName, FaultRule, MarketOptions } from './commands.ts';
import { ClusterStatus } from './commands.ts';

const FINALITY_TIMEOUT_MS = 30_000;

/** An active fault. */
export interface ActiveFault {
  readonly id: number;
  /** Number of requests or transactions that the fault has affected. */
  hits(): Promise<number>;
  clear(): Promise<void>;
}

/** Client of a localnet's control endpoint. */
export class LocalnetControl {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async status(): Promise<ClusterStatus> {
    return ClusterStatus.parse(await this.#post('status', {}));
  }

  /** Activates a fault. */
  async fault(fault: FaultRule): Promise<ActiveFault> {
    const { id } = (await this.#post('fault', fault)) as { id: number };
    return {
      id,
      hits: async () => (await this.status()).faults.find((active) => active.id === id)?.hits ?? 0,
      clear: () => this.#run('clear', { id }),
    };
  }

  /**
   * Ends all faults: removes fault rules, congestion, lags, separations, beacon faults and the clock offset, restores purged history, and resumes a paused clock. Transactions
   * that a fault delayed never land.
   */
  clear(): Promise<void> {
    return this.#run('clear', {});
  }

  /** Starts congestion: transactions compete with simulated transactions of other senders for space in the blocks. Null ends the congestion. */
  congest(market: MarketOptions | null): Promise<void> {
    return this.#run('congest', { market });
  }

  /** Advances the cluster by `slots` slots at once. Each of these slots has an empty block. */
  advance(slots: number): Promise<void> {
    return this.#run('advance', { slots });
  }

  /** Advances the cluster past the next `slots` slots, which have no block. */
  skip(slots: number): Promise<void> {
    return this.#run('skip', { slots });
  }

  /** Stops the slot clock, so that the current slot does not change until `resume`. Transactions still land in this slot. */
  pause(): Promise<void> {
    return this.#run('pause', {});
  }

  resume(): Promise<void> {
    return this.#run('resume', {});
  }

  /** Sets the time of the cluster and the beacon to the system time plus `offsetMs`. */
  setOffset(offsetMs: number): Promise<void> {
    return this.#run('time', { offsetMs });
  }

  /** Sets the time of the cluster and the beacon. */
  setTime(at: Date): Promise<void> {
    return this.#run('time', { at: at.toISOString() });
  }

  /**
   * Replaces the block of a transaction and all later blocks, as in a fork. The transaction disappears from the chain. Precondition: the block is not
   * finalized.
   */
  fork(signature: string): Promise<void> {
    return this.#run('fork', { signature });
  }

  /** Sets the number of slots by which a node is behind the cluster. */
  lag(slots: number, node: 'first' | 'second' = 'first'): Promise<void> {
    return this.#run('lag', { slots, node });
  }

  /** Separates the second node from the cluster; see the command `split`. */
  split(how: Command<'split'>['how']): Promise<void> {
    return this.#run('split', { how });
  }

  /** Ends the separation of the second node. */
  rejoin(): Promise<void> {
    return this.#run('rejoin', {});
  }

  /** Makes a false statement of a node about a transaction, or about every transaction. `truth` ends the statement. */
  claim(says: Command<'claim'>['says'], signature?: string, node: 'first' | 'second' = 'second'): Promise<void> {
    return this.#run('claim', { node, says, ...(signature === undefined ? {} : { signature }) });
  }

  /** Limits the credits of a node per second, as a public provider does. Null ends the limit. */
  limit(perSecond: number | null, { node = 'first', credits = {} }: Partial<Pick<Command<'limit'>, 'node' | 'credits'>> = {}): Promise<void> {
    return this.#run('limit', { node, perSecond, credits });
  }

  /** Deletes the history of a node before the slot `before`, or its whole history if `before` is undefined. */
  purge(before?: number, node: 'first' | 'second' = 'first'): Promise<void> {
    return this.#run('purge', { node, ...(before === undefined ? {} : { before }) });
  }

  /** Sets the states of accounts without a transaction, in the ledgers of all nodes or of one node. */
  setAccounts(accounts: Command<'accounts'>['accounts'], node?: 'first' | 'second'): Promise<void> {
    return this.#run('accounts', { accounts, ...(node === undefined ? {} : { node }) });
  }

  /** Freezes a token account, or thaws it if `frozen` is false. Needs no freeze authority. */
  freeze(tokenAccount: string, frozen = true): Promise<void> {
    return this.#run('freeze', { tokenAccount, frozen });
  }

  /** Adds `count` memo transactions of a stranger to the current block. Each names all of the addresses (at most 30). */
  strangers(addresses: readonly string[], count: number): Promise<void> {
    return this.#run('strangers', { addresses: [...addresses], count });
  }

  /** Stops the beacon, delays its responses, or makes its signatures invalid. */
  beacon(how: Command<'beacon'>): Promise<void> {
    return this.#run('beacon', how);
  }

  /**
   * Waits until a slot is finalized.
   * @throws when the slot is not finalized after 30 s
   */
  async finalized(slot: number): Promise<void> {
    const end = Date.now() + FINALITY_TIMEOUT_MS;
    for (let status = await this.status(); status.finalizedSlot < slot; status = await this.status()) {
      if (Date.now() > end) throw new Error(`localnet: slot ${slot} is not finalized after ${FINALITY_TIMEOUT_MS / 1000} s`);
      await sleep(5);
    }
  }

  async #run<Name extends CommandName>(name: Name, command: Command<Name>): Promise<void> {
    await this.#post(name, command);
  }

  async #post<Name extends CommandName>(name: Name, command: Command<Name>): Promise<unknown> {
    const response = await fetch(`${this.#url}/control/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(command),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`localnet: ${name}: ${text}`);
    return JSON.parse(text);
  }
}
