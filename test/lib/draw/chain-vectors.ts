import bs58 from 'bs58';
import { programAddress } from '#lib/draw/accounts.ts';
import { toHex, u32, u64 } from '#lib/draw/bytes.ts';
import { membersHash, type PayoutMember, payoutMemo } from '#lib/draw/payout.ts';
import { programHash } from '#packages/verify/src/index.ts';
import { tokenAccount } from '#test/support/verify/world.ts';
import { addressOf, bytesOf, PROGRAM, TREASURY, uuidOf } from './rounds.ts';

/** The test vectors of transactions and accounts, as a Solana node shows them. */

const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111';
const FINAL_LOADERS = ['BPFLoader2111111111111111111111111111111111', 'BPFLoader1111111111111111111111111111111111'] as const;
const SYSTEM_PROGRAM = '11111111111111111111111111111111';
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';

const mint = addressOf('reward');
const round = uuidOf('a round with ties');
const BATCH = uuidOf('batch of three');
const members: readonly PayoutMember[] = [
  { paymentId: uuidOf('payment 1'), round, place: 1, wallet: addressOf('wallet 1'), amount: '3000000', mint },
  { paymentId: uuidOf('payment 2'), round, place: 2, wallet: addressOf('wallet 2'), amount: '18446744073709551615', mint: addressOf('usdc') },
  { paymentId: uuidOf('payment 3'), round: null, place: null, wallet: addressOf('wallet 3'), amount: '1', mint },
];

interface Instruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

const memoOf = (text: string): Instruction => ({ program: MEMO_PROGRAM, accounts: [], data: Buffer.from(text) });
const MEMO = memoOf(payoutMemo(BATCH, membersHash(members)));
const transfer = (member: PayoutMember, decimals = 6): Instruction => ({
  program: TOKEN_PROGRAM,
  accounts: [tokenAccount(TREASURY, member.mint), member.mint, tokenAccount(member.wallet, member.mint), TREASURY],
  data: Buffer.concat([Buffer.of(12), u64(BigInt(member.amount)), Buffer.of(decimals)]),
});
const TRANSFERS = members.map((member) => transfer(member));
const LIMIT: Instruction = { program: COMPUTE_BUDGET, accounts: [], data: Buffer.concat([Buffer.of(2), u32(100_000)]) };
const ADVANCE: Instruction = {
  ...{ program: SYSTEM_PROGRAM, data: u32(4) },
  accounts: [addressOf('nonce account'), 'SysvarRecentB1ockHashes11111111111111111111', TREASURY],
};

/** The transaction of a vector. `loaded`: addresses of lookup tables, which follow the static keys. */
interface Transaction {
  readonly instructions: readonly Instruction[];
  readonly inner?: readonly Instruction[];
  readonly loaded?: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
  readonly err?: object;
}

/** Returns the answer of `getTransaction` with the encoding `json`. */
function answerOf({ instructions, inner = [], loaded, err }: Transaction) {
  const { writable = [], readonly = [] } = loaded ?? {};
  const named = [TREASURY, ...[...instructions, ...inner].flatMap(({ program, accounts }) => [...accounts, program])];
  const accountKeys = [...new Set(named)].filter((key) => !writable.includes(key) && !readonly.includes(key));
  const keys = [...accountKeys, ...writable, ...readonly];
  const compiled = (list: readonly Instruction[]) =>
    list.map(({ program, accounts, data }) => ({
      ...{ programIdIndex: keys.indexOf(program), accounts: accounts.map((key) => keys.indexOf(key)) },
      data: bs58.encode(data),
    }));
  return {
    slot: 300_002_000,
    blockTime: 1_692_806_500,
    version: loaded === undefined ? 'legacy' : 0,
    meta: {
      err: err ?? null,
      innerInstructions: inner.length === 0 ? [] : [{ index: 0, instructions: compiled(inner) }],
      loadedAddresses: { writable, readonly },
    },
    transaction: {
      signatures: [bs58.encode(Buffer.concat([bytesOf('a'), bytesOf('b')]))],
      message: { accountKeys, instructions: compiled(instructions) },
    },
  };
}

const changed = (place: number, change: (instruction: Instruction) => Instruction) => ({
  instructions: [MEMO, ...TRANSFERS.map((instruction, i) => (i === place ? change(instruction) : instruction))],
});
const account = (place: number, at: number, address: string) =>
  changed(place, (instruction) => ({ ...instruction, accounts: instruction.accounts.with(at, address) }));

const lookups = {
  writable: [tokenAccount(TREASURY, mint), ...members.map(({ wallet, mint: own }) => tokenAccount(wallet, own))],
  readonly: [mint, addressOf('usdc')],
};
const stranger = addressOf('a stranger');
const VALID: Readonly<Record<string, Transaction>> = {
  'a memo and the transfers': { instructions: [MEMO, ...TRANSFERS] },
  'a nonce advance, a compute limit and the memo of somebody else': { instructions: [ADVANCE, LIMIT, ...TRANSFERS, memoOf('gm'), MEMO] },
  'addresses of lookup tables': { instructions: [LIMIT, MEMO, ...TRANSFERS], loaded: lookups },
  'a fifth account and other decimals': {
    instructions: [MEMO, ...members.map((member) => ({ ...transfer(member, 9), accounts: [...transfer(member).accounts, stranger] }))],
  },
  'an inner transfer': { instructions: [MEMO, ...TRANSFERS], inner: TRANSFERS.slice(0, 1) },
};
const INVALID: Readonly<Record<string, Transaction>> = {
  'it failed': { instructions: [MEMO, ...TRANSFERS], err: { InstructionError: [1, { Custom: 1 }] } },
  'it has no memo': { instructions: TRANSFERS },
  'it has the memo twice': { instructions: [MEMO, ...TRANSFERS, MEMO] },
  'it has the memo of another batch': { instructions: [memoOf(payoutMemo(uuidOf('another batch'), membersHash(members))), ...TRANSFERS] },
  'it has the memo of other members': { instructions: [memoOf(payoutMemo(BATCH, membersHash(members.toReversed()))), ...TRANSFERS] },
  'its transfers have another order': { instructions: [MEMO, ...TRANSFERS.toReversed()] },
  'a transfer is missing': { instructions: [MEMO, ...TRANSFERS.slice(1)] },
  'it has one more transfer': { instructions: [MEMO, ...TRANSFERS, ...TRANSFERS.slice(0, 1)] },
  'a transfer is only an inner instruction': { instructions: [MEMO, ...TRANSFERS.slice(0, 2)], inner: TRANSFERS.slice(2) },
  'an amount is greater by 1': changed(0, ({ data, ...rest }) => ({ ...rest, data: data.with(1, (data[1] ?? 0) + 1) })),
  'a transfer is Transfer in place of TransferChecked': changed(0, ({ data, ...rest }) => ({ ...rest, data: data.subarray(0, 9).with(0, 3) })),
  'the source is not the token account of the treasury': account(0, 0, tokenAccount(stranger, mint)),
  'the mint is another one': account(0, 1, addressOf('usdc')),
  'the destination is the token account of somebody else': account(0, 2, tokenAccount(stranger, mint)),
  'the destination is the wallet in place of its token account': account(0, 2, addressOf('wallet 1')),
  'the authority is not the treasury': account(0, 3, stranger),
  'the addresses of lookup tables have the wrong order': {
    instructions: [MEMO, ...TRANSFERS].map((instruction) => swapped(instruction)),
    loaded: lookups,
  },
};

/** Exchanges the two first addresses of the lookup tables, as a reader does that takes them in another order. */
function swapped({ accounts, ...rest }: Instruction): Instruction {
  const [a = '', b = ''] = lookups.writable;
  return { ...rest, accounts: accounts.map((key) => (key === a ? b : key === b ? a : key)) };
}

/** Returns transactions of a batch of payments, valid and invalid ones. */
export function transactions() {
  const cases = (list: Readonly<Record<string, Transaction>>, valid: boolean) =>
    Object.entries(list).map(([name, transaction]) => ({ name, valid, answer: answerOf(transaction) }));
  return {
    treasury: TREASURY,
    batch: BATCH,
    members,
    memo: payoutMemo(BATCH, membersHash(members)),
    transactions: [...cases(VALID, true), ...cases(INVALID, false)],
  };
}

/** Returns associated token accounts. */
export const tokenAccounts = () =>
  members.map((member) => ({ wallet: member.wallet, mint: member.mint, address: tokenAccount(member.wallet, member.mint) }));

const CODE = Buffer.concat([bytesOf('the code of the program'), bytesOf('more code')]);
const DATA_ADDRESS = programAddress(UPGRADEABLE_LOADER, bs58.decode(PROGRAM));

interface DeployedAccounts {
  readonly account: { readonly owner: string; readonly data: Uint8Array } | null;
  readonly dataAccount: { readonly owner: string; readonly data: Uint8Array } | null;
}

/** Returns the pair of accounts of an upgradeable program. */
function pairOf(
  over: { readonly tag?: number; readonly names?: string; readonly dataTag?: number; readonly authority?: string } = {},
): DeployedAccounts {
  const { tag = 2, names = DATA_ADDRESS.address, dataTag = 3, authority } = over;
  const option = authority === undefined ? Buffer.alloc(33) : Buffer.concat([Buffer.of(1), bs58.decode(authority)]);
  return {
    account: { owner: UPGRADEABLE_LOADER, data: Buffer.concat([u32(tag), bs58.decode(names)]) },
    dataAccount: { owner: UPGRADEABLE_LOADER, data: Buffer.concat([u32(dataTag), u64(300_000_000n), option, CODE, Buffer.alloc(16)]) },
  };
}

/** Returns the account of a program whose loader stores the code in the account itself. */
const programOf = (owner: string): DeployedAccounts => ({ account: { owner, data: CODE }, dataAccount: null });

/** Returns the accounts of deployed programs, and of accounts that are no known program: their `deployed` is null. */
export function programs() {
  const pair = pairOf();
  const cut = (data: Uint8Array | undefined, end: number) => ({ owner: UPGRADEABLE_LOADER, data: (data ?? Buffer.alloc(0)).subarray(0, end) });
  const cases: readonly [name: string, accounts: DeployedAccounts, deployed: { isUpgradeable: boolean; deployedIn: number | null } | null][] = [
    ['a final program of the upgradeable loader', pair, { isUpgradeable: false, deployedIn: 300_000_000 }],
    ['a program with an upgrade authority', pairOf({ authority: addressOf('authority') }), { isUpgradeable: true, deployedIn: 300_000_000 }],
    ['a program of a loader without upgrades', programOf(FINAL_LOADERS[0]), { isUpgradeable: false, deployedIn: null }],
    ['a program of the first loader', programOf(FINAL_LOADERS[1]), { isUpgradeable: false, deployedIn: null }],
    ['an account that does not exist', { ...pair, account: null }, null],
    ['an account of another loader', { ...pair, account: { owner: SYSTEM_PROGRAM, data: CODE } }, null],
    ['a program that names another data account', pairOf({ names: addressOf('another data account') }), null],
    ['a buffer in place of a program', pairOf({ tag: 1 }), null],
    ['a program account that is too short', { ...pair, account: cut(pair.account?.data, 35) }, null],
    ['a program whose data account does not exist', { ...pair, dataAccount: null }, null],
    ['a program whose data account has another owner', { ...pair, dataAccount: { owner: SYSTEM_PROGRAM, data: CODE } }, null],
    ['a program whose data account has another tag', pairOf({ dataTag: 1 }), null],
    ['a program whose data account is too short', { ...pair, dataAccount: cut(pair.dataAccount?.data, 44) }, null],
  ];
  const shown = (one: DeployedAccounts['account']) => one && { owner: one.owner, data: toHex(one.data) };
  return {
    ...{ program: PROGRAM, dataAddress: DATA_ADDRESS.address, dataBump: DATA_ADDRESS.bump },
    cases: cases.map(([name, { account: own, dataAccount }, deployed]) => ({
      ...{ name, account: shown(own), dataAccount: shown(dataAccount) },
      deployed: deployed && { hash: programHash(CODE), ...deployed },
    })),
  };
}

/** Returns the account of an epoch and its page of claims, in which two leaves are marked as paid. */
export function epochAccount(epoch: number, amounts: readonly bigint[], root: string) {
  const [program, authority] = [addressOf('the program distributor'), addressOf('epoch authority')];
  const address = programAddress(program, Buffer.from('epoch'), bs58.decode(authority), bs58.decode(mint), u64(BigInt(epoch)));
  const vault = tokenAccount(address.address, mint);
  const marked = [1, 4];
  const total = amounts.reduce((sum, amount) => sum + amount, 0n);
  const claimed = marked.reduce((sum, index) => sum + (amounts[index] ?? 0n), 0n);
  const expiry = (epoch + 31) * 86_400;
  const [refund, owner] = [addressOf('refund account'), addressOf('owner of the refund account')];
  const keys = [authority, mint, vault, refund, owner].map((key) => bs58.decode(key));
  const head = Buffer.concat([
    Buffer.from('CoinopEp'),
    Buffer.of(1, 1, address.bump, 0),
    u32(amounts.length),
    u64(BigInt(epoch)),
    u64(total),
    u64(claimed),
  ]);
  const page = programAddress(program, Buffer.from('claimed'), bs58.decode(address.address), u32(0));
  const bits = Buffer.of(marked.reduce((byte, index) => byte | (1 << index), 0));
  return {
    ...{ program, authority, mint, address: address.address, bump: address.bump, vault, state: 'open', leaves: amounts.length, epoch },
    ...{ total: String(total), claimed: String(claimed), expiry, root },
    data: toHex(Buffer.concat([head, u64(BigInt(expiry)), Buffer.from(root, 'hex'), ...keys])),
    page: {
      ...{ page: 0, address: page.address, bump: page.bump, marked },
      data: toHex(Buffer.concat([Buffer.from('CoinopPg'), Buffer.of(1, page.bump, 0, 0), u32(0), bs58.decode(address.address), bits])),
    },
  };
}

/** JSON texts as they are parsed, with their canonical text. `integer` is the integer that the text is; null when the text is no valid number. */
export function jsonTexts() {
  const numbers: Readonly<Record<string, number | null>> = {
    ...{ '0': 0, '-0': 0, '-0.0': 0, '0e7': 0, '1.0': 1, '1e2': 100, '12000e-3': 12 },
    ...{ '9007199254740991': 9_007_199_254_740_991, '9007199254740992': null, '1.5': null, '1e400': null },
  };
  const texts = [
    '{ "b": 1, "a": [ true, null ], "b": 2 }',
    '{ "\\u20ac": 1, "\\r": 2, "\\ud83d\\ude00": 3, "1": 4, "\\u00f6": 5, "\\ufb33": 6, "\\u0080": 7 }',
    '"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c\\u002f\\u0000\\u001f\\u007f\\u20ac"',
    '{ "index": -0 }',
  ];
  return { numbers: Object.entries(numbers).map(([text, integer]) => ({ text, integer })), texts };
}
