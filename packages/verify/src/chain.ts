import bs58 from 'bs58';
import { z } from 'zod';
import { Unknown } from './report.ts';
import { RpcFault, type RpcSource, Unreadable } from './sources.ts';

/** An account of the chain. */
export interface Account {
  readonly owner: string;
  readonly data: Uint8Array;
}

/** A block of the chain. `time` is the Unix time in seconds. */
export interface Block {
  readonly slot: number;
  readonly blockhash: string;
  readonly time: number;
}

/** An instruction of a transaction with its addresses in base58. */
interface ChainInstruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** A finalized transaction. `instructions` are the top-level instructions. */
export interface ChainTransaction {
  readonly slot: number;
  readonly time: number;
  readonly failed: boolean;
  readonly instructions: readonly ChainInstruction[];
}

/** Reads finalized data from the verifier's own Solana node. Every method throws `Unknown` when the node does not answer. */
export interface Chain {
  genesisHash(): Promise<string>;
  accounts(addresses: readonly string[]): Promise<(Account | null)[]>;
  /** Returns the block of a slot; null when the slot has no block. */
  block(slot: number): Promise<Block | null>;
  /** Returns the latest finalized block. */
  latest(): Promise<Block>;
  /** Returns a transaction; null when the node does not have it. */
  transaction(signature: string): Promise<ChainTransaction | null>;
  /** Returns the signatures of the transactions that name an address, latest first: at most `limit`, older than `before`. */
  history(address: string, page: { readonly limit: number; readonly before: string | undefined }): Promise<string[]>;
  /** Returns the slot of the first block that the node still has. */
  firstBlock(): Promise<number>;
}

/** Error codes of a node for a slot without a block. */
const SKIPPED = [-32_007, -32_009];
/** Longest base58 text of instruction data, characters. Decoding time grows with the square of the length. */
const MAX_DATA = 6_000;

const Slot = z.int().min(0);
const AccountShape = z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) });
const Accounts = z.object({ value: z.array(AccountShape.nullable()) });
const History = z.array(z.object({ signature: z.string() }));
const BlockShape = z.object({ blockhash: z.string(), blockTime: z.int() });
const Index = z.int().min(0);
const TransactionShape = z.object({
  slot: Slot,
  blockTime: z.int(),
  meta: z.object({
    err: z.unknown(),
    loadedAddresses: z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish(),
  }),
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.string()),
      instructions: z.array(z.object({ programIdIndex: Index, accounts: z.array(Index), data: z.string().max(MAX_DATA) })),
    }),
  }),
});

const bytesOfBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** Opens a node. All its answers are validated. */
export function openChain(rpc: RpcSource): Chain {
  async function call<Shape extends z.ZodType>(method: string, params: readonly unknown[], shape: Shape): Promise<z.output<Shape>> {
    const result = await rpc(method, params).catch((error: unknown) => {
      if (error instanceof RpcFault || error instanceof Unreadable)
        throw Object.assign(new Unknown('rpc', `${method}: ${error.message}`), { cause: error });
      throw error;
    });
    const parsed = shape.safeParse(result);
    if (!parsed.success) throw new Unknown('rpc', `the answer of the node to ${method} is not valid: ${parsed.error.issues[0]?.path.join('.')}`);
    return parsed.data;
  }
  const final = { commitment: 'finalized' };

  async function block(slot: number): Promise<Block | null> {
    const options = { ...final, transactionDetails: 'none', rewards: false, maxSupportedTransactionVersion: 1 };
    const found = await call('getBlock', [slot, options], BlockShape.nullable()).catch((error: unknown) => {
      const cause = error instanceof Unknown ? error.cause : null;
      if (cause instanceof RpcFault && SKIPPED.includes(cause.code)) return null;
      throw error;
    });
    return found && { slot, blockhash: found.blockhash, time: found.blockTime };
  }

  return {
    block,
    genesisHash: () => call('getGenesisHash', [], z.string()),
    async accounts(addresses) {
      const { value } = await call('getMultipleAccounts', [addresses, { ...final, encoding: 'base64' }], Accounts);
      if (value.length !== addresses.length) throw new Unknown('rpc', 'the node answered another number of accounts');
      return value.map((account) => account && { owner: account.owner, data: bytesOfBase64(account.data[0]) });
    },
    async latest() {
      const slot = await call('getSlot', [final], Slot);
      const found = await block(slot);
      if (found === null) throw new Unknown('rpc', `the node has no block for its finalized slot ${slot}`);
      return found;
    },
    async transaction(signature) {
      const options = { ...final, encoding: 'json', maxSupportedTransactionVersion: 1 };
      const found = await call('getTransaction', [signature, options], TransactionShape.nullable());
      return found && decode(found);
    },
    async history(address, { limit, before }) {
      const found = await call('getSignaturesForAddress', [address, { ...final, limit, ...(before === undefined ? {} : { before }) }], History);
      return found.map(({ signature }) => signature);
    },
    firstBlock: () => call('getFirstAvailableBlock', [], Slot),
  };
}

function decode({ slot, blockTime, meta, transaction }: z.output<typeof TransactionShape>): ChainTransaction {
  const { accountKeys, instructions } = transaction.message;
  const keys = [...accountKeys, ...(meta.loadedAddresses?.writable ?? []), ...(meta.loadedAddresses?.readonly ?? [])];
  return {
    slot,
    time: blockTime,
    failed: (meta.err ?? null) !== null,
    instructions: instructions.map(({ programIdIndex, accounts, data }) => ({
      program: keys[programIdIndex] ?? '',
      accounts: accounts.map((at) => keys[at] ?? ''),
      data: bs58.decodeUnsafe(data) ?? new Uint8Array(),
    })),
  };
}
