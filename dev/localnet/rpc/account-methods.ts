import bs58 from 'bs58';
import { z } from 'zod';
import { mintOf, tokenAccountOf } from '../cluster/accounts.ts';
import { tokenAmount } from '../cluster/meta.ts';
import type { SvmAccount } from '../cluster/svm.ts';
import { base58Of, type Key } from '../keys.ts';
import { encodeAccount } from './encode-account.ts';
import { invalidParams } from './errors.ts';
import type { Node } from './node.ts';
import { AccountOptions, Address, CommitmentOptions, inContext, type Method, method, slotFor } from './params.ts';

type Options = z.output<typeof AccountOptions> | null | undefined;

const MAX_ACCOUNTS = 100;
const MAX_FILTERS = 4;
const MAX_MEMCMP_BYTES = 128;

const Memcmp = z
  .object({
    offset: z.number().int().min(0),
    bytes: z.union([z.string(), z.array(z.number().int().min(0).max(255))]),
    encoding: z.string().nullish(),
  })
  .transform(({ offset, bytes, encoding }, context) => {
    const decoded = typeof bytes !== 'string' ? Buffer.from(bytes) : encoding === 'base64' ? Buffer.from(bytes, 'base64') : bs58.decodeUnsafe(bytes);
    if (decoded && decoded.length <= MAX_MEMCMP_BYTES) return { offset, bytes: Buffer.from(decoded) };
    context.addIssue({ code: 'custom', message: decoded ? 'encoded binary data should be less than 129 bytes' : 'error decoding bs58' });
    return z.NEVER;
  });
const Filter = z.union([z.object({ memcmp: Memcmp }), z.object({ dataSize: z.number().int().min(0) })]);
const ProgramOptions = AccountOptions.extend({ filters: z.array(Filter).max(MAX_FILTERS).nullish(), withContext: z.boolean().nullish() });
const TokenFilter = z.union([z.object({ mint: Address }), z.object({ programId: Address })]);

function passes(account: SvmAccount, filters: readonly z.output<typeof Filter>[] | null | undefined): boolean {
  return (filters ?? []).every((filter) => {
    if ('dataSize' in filter) return account.data.length === filter.dataSize;
    const { offset, bytes } = filter.memcmp;
    return bytes.equals(account.data.subarray(offset, offset + bytes.length));
  });
}

function read(node: Node, key: Key, options: Options, slot: number) {
  const account = node.chain.accounts.at(key, slot);
  return account ? encodeAccount(account, options, node.chain.accounts, slot) : null;
}

function listed(node: Node, found: readonly [Key, SvmAccount][], options: Options, slot: number) {
  return found.map(([key, account]) => ({ pubkey: base58Of(key), account: encodeAccount(account, options, node.chain.accounts, slot) }));
}

function programAccounts(node: Node, program: Key, options: z.output<typeof ProgramOptions> | null | undefined) {
  const slot = slotFor(node, options);
  const found = [...node.chain.accounts.ownedBy(program, slot)].filter(([, account]) => passes(account, options?.filters));
  const list = listed(node, found, options, slot);
  return options?.withContext === true ? inContext(slot, list) : list;
}

function tokenAccountsByOwner(node: Node, owner: Key, filter: z.output<typeof TokenFilter>, options: Options) {
  const slot = slotFor(node, options);
  if ('mint' in filter && !mintOf(node.chain.accounts.at(filter.mint, slot))) throw invalidParams('Invalid param: could not find mint');
  const found = [...node.chain.accounts.tokensOf(owner, slot)].filter(([, account]) =>
    'mint' in filter ? tokenAccountOf(account)?.mint === filter.mint : account.owner === filter.programId,
  );
  return inContext(slot, listed(node, found, options, slot));
}

function tokenBalance(node: Node, key: Key, options: Options) {
  const slot = slotFor(node, options);
  const account = node.chain.accounts.at(key, slot);
  if (!account) throw invalidParams('Invalid param: could not find account');
  const token = tokenAccountOf(account);
  const mint = token && mintOf(node.chain.accounts.at(token.mint, slot));
  if (!mint) throw invalidParams('Invalid param: not a Token account');
  return inContext(slot, tokenAmount(token.amount, mint.decimals));
}

function tokenSupply(node: Node, key: Key, options: Options) {
  const slot = slotFor(node, options);
  const account = node.chain.accounts.at(key, slot);
  if (!account) throw invalidParams('Invalid param: could not find account');
  const mint = mintOf(account);
  if (!mint) throw invalidParams('Invalid param: not a Token mint');
  return inContext(slot, tokenAmount(mint.supply, mint.decimals));
}

const OfAddress = z.tuple([Address, CommitmentOptions.nullish()]);

/** JSON-RPC methods that return accounts, each in its state at the requested commitment. */
export const accountMethods: Readonly<Record<string, Method>> = {
  getBalance: method(OfAddress, (node, [key, options]) => {
    const slot = slotFor(node, options);
    return inContext(slot, Number(node.chain.accounts.at(key, slot)?.lamports ?? 0n));
  }),
  getAccountInfo: method(z.tuple([Address, AccountOptions.nullish()]), (node, [key, options]) => {
    const slot = slotFor(node, options);
    return inContext(slot, read(node, key, options, slot));
  }),
  getMultipleAccounts: method(z.tuple([z.array(Address).max(MAX_ACCOUNTS), AccountOptions.nullish()]), (node, [keys, options]) => {
    const slot = slotFor(node, options);
    const shown = { ...options, encoding: options?.encoding ?? 'base64' };
    return inContext(
      slot,
      keys.map((key) => read(node, key, shown, slot)),
    );
  }),
  getProgramAccounts: method(z.tuple([Address, ProgramOptions.nullish()]), (node, [program, options]) => programAccounts(node, program, options)),
  getTokenAccountsByOwner: method(z.tuple([Address, TokenFilter, AccountOptions.nullish()]), (node, [owner, filter, options]) =>
    tokenAccountsByOwner(node, owner, filter, options),
  ),
  getTokenAccountBalance: method(OfAddress, (node, [key, options]) => tokenBalance(node, key, options)),
  getTokenSupply: method(OfAddress, (node, [key, options]) => tokenSupply(node, key, options)),
  getMinimumBalanceForRentExemption: method(z.tuple([z.number().int().min(0).max(10_485_760), CommitmentOptions.nullish()]), (node, [bytes]) =>
    Number(node.chain.svm.minimumBalance(bytes)),
  ),
};
