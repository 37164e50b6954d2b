import { createHash } from 'node:crypto';
import bs58 from 'bs58';
import { z } from 'zod';
import { feeOf } from '../cluster/fees.ts';
import { MalformedTransaction, parseMessage } from '../cluster/wire.ts';
import { bytesOf, type Key } from '../keys.ts';
import { BLOCK_NOT_AVAILABLE, invalidParams, RpcError } from './errors.ts';
import type { Node } from './node.ts';
import { Address, API_VERSION, CommitmentOptions, inContext, type Method, method, Slot, slotFor } from './params.ts';

const NoParams = z.tuple([]).rest(z.unknown());
const Options = z.tuple([CommitmentOptions.nullish()]);

/** Maximum difference between the last and the first slot of a getBlocks request. */
const MAX_SLOTS = 500_000;
/** Number of blocks that getRecentPrioritizationFees covers. */
const FEE_BLOCKS = 150;

function identity(node: Node): string {
  return bs58.encode(createHash('sha256').update(`identity ${node.name}`).update(node.chain.options.seed).digest());
}

function latestBlockhash(node: Node, options: z.output<typeof CommitmentOptions> | null | undefined) {
  const slot = slotFor(node, options);
  const { chain } = node;
  const at = node.hashSlot(options?.commitment ?? 'finalized');
  const blockhash = chain.hashes.textOf(at);
  return inContext(slot, { blockhash, lastValidBlockHeight: chain.bank.lastValidHeight(chain.hashes.of(at), at) ?? 0 });
}

function epochInfo(node: Node, options: z.output<typeof CommitmentOptions> | null | undefined) {
  const slot = slotFor(node, options);
  const { clock, svm, ledger } = node.chain;
  const slotsInEpoch = svm.slotsPerEpoch;
  const [absoluteSlot, blockHeight] = [slot, clock.height(slot)];
  return {
    absoluteSlot,
    blockHeight,
    epoch: Math.floor(slot / slotsInEpoch),
    slotIndex: slot % slotsInEpoch,
    slotsInEpoch,
    transactionCount: ledger.count,
  };
}

function blockTime(node: Node, slot: number): number | null {
  if (slot > node.slot('confirmed')) throw new RpcError(BLOCK_NOT_AVAILABLE, `Block not available for slot ${slot}`);
  return node.chain.clock.hasBlock(slot) && slot >= node.firstSlot ? node.chain.clock.unixSeconds(slot) : null;
}

function blocks(node: Node, first: number, last: number): number[] {
  if (last - first > MAX_SLOTS) throw invalidParams(`Slot range too large; max ${MAX_SLOTS}`);
  const slots: number[] = [];
  for (let slot = Math.max(first, node.firstSlot); slot <= last; slot++) if (node.chain.clock.hasBlock(slot)) slots.push(slot);
  return slots;
}

/** Returns the price of each of the last 150 blocks for the given accounts; see `FeeHistory`. */
function recentFees(node: Node, addresses: readonly Key[]): { slot: number; prioritizationFee: number }[] {
  const { clock, fees } = node.chain;
  const height = clock.height(node.tip);
  const count = Math.min(FEE_BLOCKS, height + 1);
  return Array.from({ length: count }, (_, i) => {
    const slot = clock.slotAtHeight(height - count + 1 + i);
    return { slot, prioritizationFee: fees.priceOf(slot, addresses) };
  });
}

function feeForMessage(node: Node, [text, options]: readonly [string, (z.output<typeof CommitmentOptions> | null | undefined)?]) {
  const slot = slotFor(node, options);
  try {
    const message = parseMessage(Buffer.from(text, 'base64'));
    const error = node.chain.bank.blockhashError(message, slot, node.hashSlot(options?.commitment ?? 'finalized'));
    return inContext(slot, error === null ? Number(feeOf(message)) : null);
  } catch (error) {
    if (error instanceof MalformedTransaction) throw invalidParams(`invalid base64 encoded message: ${error.message}`);
    throw error;
  }
}

/** JSON-RPC methods about the cluster, its slots and its blockhashes. */
export const clusterMethods: Readonly<Record<string, Method>> = {
  getHealth: method(NoParams, () => 'ok'),
  getVersion: method(NoParams, () => ({ 'solana-core': API_VERSION, 'feature-set': 0 })),
  getGenesisHash: method(NoParams, (node) => bs58.encode(bytesOf(node.chain.hashes.of(0)))),
  getIdentity: method(NoParams, (node) => ({ identity: identity(node) })),
  getSlot: method(Options, (node, [options]) => slotFor(node, options)),
  getBlockHeight: method(Options, (node, [options]) => node.chain.clock.height(slotFor(node, options))),
  getTransactionCount: method(Options, (node) => node.chain.ledger.count),
  getEpochInfo: method(Options, (node, [options]) => epochInfo(node, options)),
  getFirstAvailableBlock: method(NoParams, (node) => node.firstSlot),
  minimumLedgerSlot: method(NoParams, (node) => node.firstSlot),
  getBlockTime: method(z.tuple([Slot]), (node, [slot]) => blockTime(node, slot)),
  getBlocks: method(z.tuple([Slot, z.union([Slot, CommitmentOptions]).nullish(), CommitmentOptions.nullish()]), (node, [first, second, third]) => {
    const options = typeof second === 'object' ? second : third;
    const newest = slotFor(node, options);
    return blocks(node, first, typeof second === 'number' ? Math.min(second, newest) : newest);
  }),
  getBlocksWithLimit: method(z.tuple([Slot, z.number().int().min(0).max(MAX_SLOTS), CommitmentOptions.nullish()]), (node, [first, limit, options]) =>
    blocks(node, first, Math.min(slotFor(node, options), first + MAX_SLOTS)).slice(0, limit),
  ),
  getLatestBlockhash: method(Options, (node, [options]) => latestBlockhash(node, options)),
  isBlockhashValid: method(z.tuple([Address, CommitmentOptions.nullish()]), (node, [hash, options]) => {
    const slot = slotFor(node, options);
    const at = node.chain.hashes.slotOf(hash);
    const seen = at !== null && at <= node.hashSlot(options?.commitment ?? 'finalized');
    return inContext(slot, seen && node.chain.bank.knowsBlockhash(hash, slot));
  }),
  getFeeForMessage: method(z.tuple([z.string(), CommitmentOptions.nullish()]), feeForMessage),
  getRecentPrioritizationFees: method(z.tuple([z.array(Address).max(128).nullish()]), (node, [addresses]) => recentFees(node, addresses ?? [])),
};
