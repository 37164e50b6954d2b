import bs58 from 'bs58';
import { tokenAmount } from '../cluster/meta.ts';
import { ASSOCIATED_TOKEN_PROGRAM, base58Of, MEMO_PROGRAM, MEMO_PROGRAM_V1, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../keys.ts';

interface Parsed {
  readonly type: string;
  readonly info: object;
}

/** Returns the address of the i-th account of an instruction; undefined if the instruction has fewer accounts. */
type At = (index: number) => string | undefined;

const names = {
  [base58Of(SYSTEM_PROGRAM)]: { program: 'system', parse: parseSystem },
  [base58Of(TOKEN_PROGRAM)]: { program: 'spl-token', parse: parseToken },
  [base58Of(TOKEN_2022_PROGRAM)]: { program: 'spl-token-2022', parse: parseToken },
  [base58Of(ASSOCIATED_TOKEN_PROGRAM)]: { program: 'spl-associated-token-account', parse: parseAssociated },
};
const memos = [base58Of(MEMO_PROGRAM), base58Of(MEMO_PROGRAM_V1)];

/**
 * Encodes an instruction for `jsonParsed`. Instructions of the system, SPL token, associated token and memo programs are parsed; all others are
 * encoded as accounts and data.
 */
export function parseInstruction(keys: readonly string[], programIndex: number, accounts: readonly number[], data: Buffer, stackHeight: number) {
  const programId = keys[programIndex] ?? '';
  const known = names[programId];
  if (memos.includes(programId)) return { program: 'spl-memo', programId, parsed: data.toString('utf8'), stackHeight };
  const at: At = (index) => keys[accounts[index] ?? -1];
  const parsed = known ? attempt(() => known.parse(data, at)) : null;
  if (known && parsed) return { program: known.program, programId, parsed, stackHeight };
  return { programId, accounts: accounts.map((index) => keys[index] ?? ''), data: bs58.encode(data), stackHeight };
}

/** Calls `parse`. Returns null if the instruction's data is too short. */
function attempt(parse: () => Parsed | null): Parsed | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

function parseSystem(data: Buffer, at: At): Parsed | null {
  const key = (from: number) => bs58.encode(data.subarray(from, from + 32));
  const lamports = (from: number) => Number(data.readBigUInt64LE(from));
  switch (data.readUInt32LE(0)) {
    case 0: {
      const info = { source: at(0), newAccount: at(1), lamports: lamports(4), space: lamports(12), owner: key(20) };
      return { type: 'createAccount', info };
    }
    case 1:
      return { type: 'assign', info: { account: at(0), owner: key(4) } };
    case 2:
      return { type: 'transfer', info: { source: at(0), destination: at(1), lamports: lamports(4) } };
    case 4:
      return { type: 'advanceNonce', info: { nonceAccount: at(0), recentBlockhashesSysvar: at(1), nonceAuthority: at(2) } };
    case 5: {
      const info = {
        nonceAccount: at(0),
        destination: at(1),
        recentBlockhashesSysvar: at(2),
        rentSysvar: at(3),
        nonceAuthority: at(4),
        lamports: lamports(4),
      };
      return { type: 'withdrawFromNonce', info };
    }
    case 6:
      return { type: 'initializeNonce', info: { nonceAccount: at(0), recentBlockhashesSysvar: at(1), rentSysvar: at(2), nonceAuthority: key(4) } };
    case 7:
      return { type: 'authorizeNonce', info: { nonceAccount: at(0), nonceAuthority: at(1), newAuthorized: key(4) } };
    case 8:
      return { type: 'allocate', info: { account: at(0), space: lamports(4) } };
    default:
      return null;
  }
}

/**
 * Returns the authority field of a parsed instruction. Accounts after the authority are the signers of a multisig; if there are any, the field name
 * gets the prefix `multisig`.
 */
function signedBy(at: At, index: number, name: string) {
  return at(index + 1) === undefined ? { [name]: at(index) } : { [`multisig${name[0]?.toUpperCase()}${name.slice(1)}`]: at(index) };
}

function parseToken(data: Buffer, at: At): Parsed | null {
  const amount = () => data.readBigUInt64LE(1);
  const checked = () => ({ tokenAmount: tokenAmount(amount(), data.readUInt8(9)) });
  const plain = () => ({ amount: amount().toString() });
  const key = (from: number) => bs58.encode(data.subarray(from, from + 32));
  const mintInfo = () => ({
    mint: at(0),
    decimals: data.readUInt8(1),
    mintAuthority: key(2),
    ...(data[34] === 1 ? { freezeAuthority: key(35) } : {}),
  });
  switch (data[0]) {
    case 0:
      return { type: 'initializeMint', info: { ...mintInfo(), rentSysvar: at(1) } };
    case 1:
      return { type: 'initializeAccount', info: { account: at(0), mint: at(1), owner: at(2), rentSysvar: at(3) } };
    case 3:
      return { type: 'transfer', info: { source: at(0), destination: at(1), ...plain(), ...signedBy(at, 2, 'authority') } };
    case 4:
      return { type: 'approve', info: { source: at(0), delegate: at(1), ...plain(), ...signedBy(at, 2, 'owner') } };
    case 5:
      return { type: 'revoke', info: { source: at(0), ...signedBy(at, 1, 'owner') } };
    case 7:
      return { type: 'mintTo', info: { mint: at(0), account: at(1), ...plain(), ...signedBy(at, 2, 'mintAuthority') } };
    case 8:
      return { type: 'burn', info: { account: at(0), mint: at(1), ...plain(), ...signedBy(at, 2, 'authority') } };
    case 9:
      return { type: 'closeAccount', info: { account: at(0), destination: at(1), ...signedBy(at, 2, 'owner') } };
    case 10:
      return { type: 'freezeAccount', info: { account: at(0), mint: at(1), ...signedBy(at, 2, 'freezeAuthority') } };
    case 11:
      return { type: 'thawAccount', info: { account: at(0), mint: at(1), ...signedBy(at, 2, 'freezeAuthority') } };
    case 12:
      return { type: 'transferChecked', info: { source: at(0), mint: at(1), destination: at(2), ...checked(), ...signedBy(at, 3, 'authority') } };
    case 14:
      return { type: 'mintToChecked', info: { mint: at(0), account: at(1), ...checked(), ...signedBy(at, 2, 'mintAuthority') } };
    case 15:
      return { type: 'burnChecked', info: { account: at(0), mint: at(1), ...checked(), ...signedBy(at, 2, 'authority') } };
    case 17:
      return { type: 'syncNative', info: { account: at(0) } };
    case 18:
      return { type: 'initializeAccount3', info: { account: at(0), mint: at(1), owner: key(1) } };
    case 20:
      return { type: 'initializeMint2', info: mintInfo() };
    case 21:
      return { type: 'getAccountDataSize', info: { mint: at(0) } };
    case 22:
      return { type: 'initializeImmutableOwner', info: { account: at(0) } };
    default:
      return null;
  }
}

function parseAssociated(data: Buffer, at: At): Parsed | null {
  const info = { source: at(0), account: at(1), wallet: at(2), mint: at(3), systemProgram: at(4), tokenProgram: at(5) };
  if (data.length === 0 || data[0] === 0) return { type: 'create', info };
  return data[0] === 1 ? { type: 'createIdempotent', info } : null;
}
