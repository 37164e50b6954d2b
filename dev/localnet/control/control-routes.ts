import { z } from 'zod';
import { tokenAccountOf } from '../cluster/accounts.ts';
import type { Chain } from '../cluster/chain.ts';
import type { Account } from '../cluster/svm.ts';
import { type Key, keyFromBase58 } from '../keys.ts';
import type { NodeName } from '../node.ts';
import type { Served } from '../served.ts';
import { ORDERS, type OrderName, type SetAccount, type Status } from './orders.ts';

/** An order that cannot be carried out, in words for whoever gave it. */
export class OrderError extends Error {}

/** Carries out an order of the control endpoint. @throws OrderError */
export function carryOut(served: Served, name: string, body: unknown): object {
  if (!Object.hasOwn(ORDERS, name)) throw new OrderError(`no such order: ${name}`);
  served.chain.tick();
  return ACTIONS[name as OrderName](served, body) ?? {};
}

type Action = (served: Served, body: unknown) => object | undefined;

function order<T>(schema: z.ZodType<T>, act: (served: Served, order: T) => object | undefined): Action {
  return (served, body) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new OrderError(z.prettifyError(parsed.error));
    return act(served, parsed.data);
  };
}

const nodeOf = (served: Served, name: NodeName) => (name === 'first' ? served.first : served.second);

const ACTIONS: Readonly<Record<OrderName, Action>> = {
  status: order(ORDERS.status, (served) => statusOf(served)),
  fault: order(ORDERS.fault, ({ faults }, fault) => ({ id: faults.add(fault) })),
  clear: order(ORDERS.clear, (served, { id }) => clear(served, id)),
  advance: order(ORDERS.advance, ({ chain }, { slots }) => jump(chain, () => chain.clock.advance(slots))),
  skip: order(ORDERS.skip, ({ chain }, { slots }) => jump(chain, () => chain.clock.skip(slots))),
  pause: order(ORDERS.pause, ({ chain }) => jump(chain, () => chain.clock.pause())),
  resume: order(ORDERS.resume, ({ chain }) => jump(chain, () => chain.clock.resume())),
  time: order(ORDERS.time, ({ chain }, time) => {
    const offset = 'offsetMs' in time ? time.offsetMs : Date.parse(time.at) - Date.now();
    return jump(chain, () => chain.clock.setOffset(offset));
  }),
  fork: order(ORDERS.fork, ({ chain }, { signature }) => {
    if (!chain.fork(signature)) throw new OrderError('that transaction is in no block, or its block is final');
    return undefined;
  }),
  lag: order(ORDERS.lag, (served, { node, slots }) => {
    nodeOf(served, node).lag = slots;
    return undefined;
  }),
  purge: order(ORDERS.purge, (served, { node, before }) => {
    nodeOf(served, node).firstSlot = before ?? served.chain.tick() + 1;
    return undefined;
  }),
  accounts: order(ORDERS.accounts, ({ chain }, { accounts }) => {
    const read = accounts.map(readAccount);
    try {
      chain.setAccounts(read);
    } catch (error) {
      throw new OrderError(`the SVM does not take it: ${error instanceof Error ? error.message : 'unknown'}`);
    }
    return undefined;
  }),
  freeze: order(ORDERS.freeze, ({ chain }, { tokenAccount, frozen }) => freeze(chain, keyOf(tokenAccount), frozen)),
  beacon: order(ORDERS.beacon, ({ beacon, chain }, how) => {
    if (how.stopped !== undefined) beacon.stoppedAt = how.stopped ? beacon.roundAt(chain.clock.now) : null;
    beacon.delayMs = how.delayMs ?? beacon.delayMs;
    beacon.wrong = how.wrong ?? beacon.wrong;
    return undefined;
  }),
};

/** Turns the clock, and does what has become due. */
function jump(chain: Chain, turn: () => void): undefined {
  turn();
  chain.tick();
}

function clear(served: Served, id: number | undefined): undefined {
  const { chain, faults, beacon, first, second } = served;
  faults.clear(id);
  if (id !== undefined) return;
  chain.forgetLate();
  for (const node of [first, second]) Object.assign(node, { lag: 0, firstSlot: 0 });
  Object.assign(beacon, { stoppedAt: null, delayMs: 0, wrong: false });
  if (chain.clock.paused) chain.clock.resume();
  if (chain.clock.offset !== 0) chain.clock.setOffset(0);
}

function statusOf({ chain, faults }: Served): Status {
  const slot = chain.tick();
  return {
    slot,
    blockHeight: chain.clock.height(slot),
    confirmedSlot: chain.confirmed(slot),
    finalizedSlot: chain.finalized(slot),
    unixMs: chain.clock.now,
    paused: chain.clock.paused,
    transactions: chain.ledger.count,
    faults: faults.list(),
  };
}

function keyOf(address: string): Key {
  const key = keyFromBase58(address);
  if (key === null) throw new OrderError(`${address} is no address`);
  return key;
}

function readAccount({ address, account }: z.output<typeof SetAccount>): [Key, Account | null] {
  if (!account) return [keyOf(address), null];
  const { lamports, owner, data, executable } = account;
  return [keyOf(address), { lamports: BigInt(lamports), owner: keyOf(owner), data: new Uint8Array(Buffer.from(data, 'base64')), executable }];
}

/** State of a token account, in its 109th byte. */
function freeze(chain: Chain, key: Key, frozen: boolean): undefined {
  const account = chain.accounts.newest(key);
  if (!account || !tokenAccountOf(account)) throw new OrderError('no such token account');
  const data = new Uint8Array(account.data);
  data[108] = frozen ? 2 : 1;
  chain.setAccounts([[key, { ...account, data }]]);
}
