import { z } from 'zod';
import { tokenAccountOf } from '../cluster/accounts.ts';
import type { Chain } from '../cluster/chain.ts';
import type { Market } from '../cluster/congestion.ts';
import { addStrangers } from '../cluster/strangers.ts';
import type { SvmAccount } from '../cluster/svm.ts';
import { type Key, keyFromBase58 } from '../keys.ts';
import { EVERY_TRANSACTION, type NodeName, type Statement } from '../rpc/node.ts';
import { type AccountUpdate, type ClusterStatus, COMMANDS, type CommandName, MarketOptions } from './commands.ts';
import type { LocalnetServices } from './services.ts';

/** Thrown when a command cannot run. The client receives the message. */
export class CommandError extends Error {}

/** Runs a command of the control endpoint. @throws CommandError */
export function runCommand(services: LocalnetServices, name: string, body: unknown): object {
  if (!Object.hasOwn(COMMANDS, name)) throw new CommandError(`no such command: ${name}`);
  if (!services.isReady()) throw new CommandError('the localnet is still starting');
  for (const chain of chainsOf(services)) chain.tick();
  return ACTIONS[name as CommandName](services, body) ?? {};
}

type Action = (services: LocalnetServices, body: unknown) => object | undefined;

function command<T>(schema: z.ZodType<T>, act: (services: LocalnetServices, order: T) => object | undefined): Action {
  return (services, body) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new CommandError(z.prettifyError(parsed.error));
    return act(services, parsed.data);
  };
}

const nodeOf = (services: LocalnetServices, name: NodeName) => (name === 'first' ? services.first : services.second);

/** Returns the different chains of the nodes; the first one is the cluster's chain. */
const chainsOf = ({ chain, second }: LocalnetServices): Chain[] => [...new Set([chain, second.chain])];

const STATEMENTS: Readonly<Record<'denied' | 'failed' | 'succeeded', Statement>> = {
  denied: null,
  failed: { err: { InstructionError: [0, { Custom: 1 }] } },
  succeeded: { err: null },
};

const ACTIONS: Readonly<Record<CommandName, Action>> = {
  status: command(COMMANDS.status, (services) => statusOf(services)),
  fault: command(COMMANDS.fault, ({ faults }, fault) => ({ id: faults.add(fault) })),
  congest: command(COMMANDS.congest, (services, { market }) => {
    for (const chain of chainsOf(services)) chain.congest(market && marketOf(market));
    return undefined;
  }),
  clear: command(COMMANDS.clear, (services, { id }) => clear(services, id)),
  advance: command(COMMANDS.advance, ({ chain }, { slots }) => changeClock(chain, () => chain.clock.advance(slots))),
  skip: command(COMMANDS.skip, ({ chain }, { slots }) => changeClock(chain, () => chain.clock.skip(slots))),
  pause: command(COMMANDS.pause, ({ chain }) => changeClock(chain, () => chain.clock.pause())),
  resume: command(COMMANDS.resume, ({ chain }) => changeClock(chain, () => chain.clock.resume())),
  time: command(COMMANDS.time, ({ chain }, time) => {
    const offset = 'offsetMs' in time ? time.offsetMs : Date.parse(time.at) - Date.now();
    return changeClock(chain, () => chain.clock.setOffset(offset));
  }),
  fork: command(COMMANDS.fork, (services, { signature }) => {
    const forked = chainsOf(services).map((chain) => chain.fork(signature));
    if (!forked.includes(true)) throw new CommandError('signature must be that of a landed transaction whose block is not finalized');
    return undefined;
  }),
  lag: command(COMMANDS.lag, (services, { node, slots }) => {
    nodeOf(services, node).lag = slots;
    return undefined;
  }),
  split: command(COMMANDS.split, ({ chain, second }, { how }) => {
    if (second.chain !== chain) throw new CommandError('the second node is separated already; rejoin it first');
    second.chain = chain.copy();
    if (how === 'stopped') second.stoppedAt = chain.tick();
    if (how === 'forked') second.chain.forkHashes();
    return undefined;
  }),
  rejoin: command(COMMANDS.rejoin, (services) => rejoin(services)),
  claim: command(COMMANDS.claim, (services, { node, signature = EVERY_TRANSACTION, says }) => {
    const { statements } = nodeOf(services, node);
    if (says === 'truth') statements.delete(signature);
    else statements.set(signature, STATEMENTS[says]);
    return undefined;
  }),
  limit: command(COMMANDS.limit, (services, { node, perSecond, credits }) => {
    nodeOf(services, node).limit.set(perSecond, credits);
    return undefined;
  }),
  purge: command(COMMANDS.purge, (services, { node, before }) => {
    nodeOf(services, node).firstSlot = before ?? services.chain.tick() + 1;
    return undefined;
  }),
  accounts: command(COMMANDS.accounts, (services, { accounts, node }) => {
    const read = accounts.map(readAccount);
    try {
      for (const chain of node === undefined ? chainsOf(services) : [nodeOf(services, node).chain]) chain.setAccounts(read);
    } catch (error) {
      throw new CommandError(`the SVM refused the accounts: ${error instanceof Error ? error.message : 'unknown'}`);
    }
    return undefined;
  }),
  freeze: command(COMMANDS.freeze, (services, { tokenAccount, frozen }) => {
    for (const chain of chainsOf(services)) freeze(chain, keyOf(tokenAccount), frozen);
    return undefined;
  }),
  strangers: command(COMMANDS.strangers, (services, { addresses, count }) => {
    for (const chain of chainsOf(services)) addStrangers(chain, addresses.map(keyOf), count);
    return undefined;
  }),
  beacon: command(COMMANDS.beacon, ({ beacon, chain }, how) => {
    if (how.stopped !== undefined) beacon.stoppedAt = how.stopped ? beacon.roundAt(chain.clock.now) : null;
    beacon.delayMs = how.delayMs ?? beacon.delayMs;
    beacon.wrong = how.wrong ?? beacon.wrong;
    return undefined;
  }),
};

/** Changes the slot clock, then runs the scheduled actions that are due. */
function changeClock(chain: Chain, change: () => void): undefined {
  change();
  chain.tick();
}

function clear(services: LocalnetServices, id: number | undefined): undefined {
  const { chain, faults, beacon, first, second } = services;
  faults.clear(id);
  if (id !== undefined) return;
  rejoin(services);
  chain.congest(null);
  chain.cancelScheduled();
  for (const node of [first, second]) {
    Object.assign(node, { lag: 0, firstSlot: 0 });
    node.statements.clear();
    node.limit.set(null);
  }
  Object.assign(beacon, { stoppedAt: null, delayMs: 0, wrong: false });
  if (chain.clock.paused) chain.clock.resume();
  if (chain.clock.offset !== 0) chain.clock.setOffset(0);
}

function rejoin({ chain, second }: LocalnetServices): undefined {
  second.chain = chain;
  second.stoppedAt = null;
}

function statusOf({ chain, faults, first, second }: LocalnetServices): ClusterStatus {
  const slot = chain.tick();
  return {
    slot,
    blockHeight: chain.clock.height(slot),
    confirmedSlot: chain.confirmed(slot),
    finalizedSlot: chain.finalized(slot),
    unixMs: chain.clock.now,
    paused: chain.clock.paused,
    transactions: chain.ledger.count,
    waiting: chain.waiting,
    faults: faults.list(),
    refused: { first: first.limit.refused, second: second.limit.refused },
  };
}

/** Returns the market with the given options; the others have their defaults. */
export function marketOf(options: MarketOptions): Market {
  const { hot, ...market } = MarketOptions.parse(options);
  return { ...market, hot: hot.map(({ address, share }) => ({ account: keyOf(address), share })) };
}

function keyOf(address: string): Key {
  const key = keyFromBase58(address);
  if (key === null) throw new CommandError(`${address} is not an address`);
  return key;
}

function readAccount({ address, account }: z.output<typeof AccountUpdate>): [Key, SvmAccount | null] {
  if (!account) return [keyOf(address), null];
  const { lamports, owner, data, executable } = account;
  return [keyOf(address), { lamports: BigInt(lamports), owner: keyOf(owner), data: new Uint8Array(Buffer.from(data, 'base64')), executable }];
}

/** Freezes or thaws a token account: writes its state byte (offset 108). */
function freeze(chain: Chain, key: Key, frozen: boolean): void {
  const account = chain.accounts.newest(key);
  if (!account || !tokenAccountOf(account)) throw new CommandError('tokenAccount must be an existing token account');
  const data = new Uint8Array(account.data);
  data[108] = frozen ? 2 : 1;
  chain.setAccounts([[key, { ...account, data }]]);
}
