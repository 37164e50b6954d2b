import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { Wallet } from '#lib/scalars.ts';
import type { ReportProblem } from '#lib/settings/problems.ts';
import { PREFIX_OF, type Role } from './roles.ts';

/** A secret key (a JSON array of 64 numbers, or base58), or the absolute path of a file that contains one. */
const secret = z.string().min(1).optional();
/** A signer, which holds the key in place of this process: `exec:` and the absolute path of a command with its arguments, or a URL. */
const signer = z.string().min(1).optional();
/** The bearer token of requests to a signer with a URL. */
const token = z
  .string()
  .regex(/^[\x21-\x7e]{16,1024}$/, 'must be 16 to 1024 printable ASCII characters without spaces')
  .optional();
/** The address of a role, for processes that do not have the key. */
const address = Wallet.optional();

/** The environment variables of the roles' keys. */
export const KeyEnvironment = {
  FEE_PAYER_KEY: secret,
  EPOCH_AUTHORITY_KEY: secret,
  TREASURY_KEY: secret,
  COMMITTER_KEY: secret,
  FEE_PAYER_SIGNER: signer,
  EPOCH_AUTHORITY_SIGNER: signer,
  TREASURY_SIGNER: signer,
  COMMITTER_SIGNER: signer,
  FEE_PAYER_SIGNER_TOKEN: token,
  EPOCH_AUTHORITY_SIGNER_TOKEN: token,
  TREASURY_SIGNER_TOKEN: token,
  COMMITTER_SIGNER_TOKEN: token,
  FEE_PAYER_ADDRESS: address,
  EPOCH_AUTHORITY_ADDRESS: address,
  TREASURY_ADDRESS: address,
  COMMITTER_ADDRESS: address,
};
type KeyVariables = z.output<z.ZodObject<typeof KeyEnvironment>>;

/** A signer that is a command. */
export interface CommandSource {
  readonly command: string;
  readonly args: readonly string[];
}

/** A signer that answers HTTP requests. */
export interface UrlSource {
  readonly url: string;
  readonly token: string | null;
}

/** How a process signs for a role: with the key of a file, with the key in an environment variable, or by asking a signer. */
export type KeySource = { readonly file: string } | { readonly text: string } | CommandSource | UrlSource;

/** Returns whether a source is a signer, so that the process does not hold the key. */
export const isSigner = (source: KeySource): source is CommandSource | UrlSource => 'command' in source || 'url' in source;

/**
 * Returns how this process signs for each role; null for a role with which it does not sign.
 * @param report gets a sentence when a role has a key and a signer, or a signer without an address or with another form than the documented ones
 */
export function keySources(e: KeyVariables, production: boolean, report: ReportProblem): Readonly<Record<Role, KeySource | null>> {
  const sourceOf = (role: Role): KeySource | null => {
    const prefix = PREFIX_OF[role];
    const [key, asked, bearer] = [e[`${prefix}_KEY`], e[`${prefix}_SIGNER`], e[`${prefix}_SIGNER_TOKEN`]];
    const parsed = asked === undefined ? null : parseSigner(asked, bearer ?? null, production);
    if (typeof parsed === 'string') report(`${prefix}_SIGNER ${parsed}`);
    if (key !== undefined && asked !== undefined) report(`${prefix}_KEY and ${prefix}_SIGNER must not both be set`);
    if (asked !== undefined && e[`${prefix}_ADDRESS`] === undefined) report(`${prefix}_ADDRESS must be set, because ${prefix}_SIGNER is set`);
    if (bearer !== undefined && !asked?.startsWith('http')) report(`${prefix}_SIGNER_TOKEN must be unset, unless ${prefix}_SIGNER is a URL`);
    if (key !== undefined) return isAbsolute(key) ? { file: key } : { text: key };
    return typeof parsed === 'string' ? null : parsed;
  };
  return {
    feePayer: sourceOf('feePayer'),
    epochAuthority: sourceOf('epochAuthority'),
    treasury: sourceOf('treasury'),
    committer: sourceOf('committer'),
  };
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** Parses the setting of a signer. @returns the signer, or the end of a sentence about the mistake, which does not repeat the setting */
function parseSigner(text: string, bearer: string | null, production: boolean): CommandSource | UrlSource | string {
  if (text.startsWith('exec:')) {
    const [command = '', ...args] = text.slice('exec:'.length).trim().split(/\s+/);
    return isAbsolute(command) ? { command, args } : 'must have the absolute path of a command after exec:';
  }
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'must be exec: and the absolute path of a command, or an https URL';
  if (url.username !== '' || url.password !== '') return 'must be a URL without credentials; the token has a setting of its own';
  if (url.protocol === 'http:' && production && !LOCAL_HOSTS.includes(url.hostname))
    return 'must be https in production, unless the host is localhost';
  return { url: url.href, token: bearer };
}
