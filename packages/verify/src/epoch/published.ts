import bs58 from 'bs58';
import { z } from 'zod';
import { Lie, Unknown } from '../report.ts';

/** Schemas of the published epoch. They contain only the fields that the verification needs. */
export const Amount = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,19})$/)
  .transform(BigInt)
  .refine((amount) => amount <= 0xffff_ffff_ffff_ffffn);
const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Address = z.string().refine((text) => bs58.decodeUnsafe(text)?.length === 32);
export const Points = z.number().int().transform(BigInt);
const Signature = z.string().refine((text) => bs58.decodeUnsafe(text)?.length === 64);

const sharedFields = {
  epoch: z.number().int(),
  source: z.enum(['computed', 'import']),
  formulaVersion: z.number().int(),
  pool: Amount,
  cap: Amount.nullable(),
  dust: Amount,
  points: Points.nullable(),
  wallets: z.number().int(),
  leaves: z.number().int(),
  total: Amount,
  undistributed: Amount,
  root: Hash.nullable(),
};

/** The status of an epoch. While it is `computing`, the epoch has neither leaves nor sums. */
const Status = z.object({ epoch: z.number().int(), status: z.enum(['computing', 'empty', 'computed', 'committed', 'expired', 'settled']) });

export const Epoch = z.object({
  ...sharedFields,
  status: Status.shape.status.exclude(['computing']),
  rulesVersion: z.number().int().min(0),
  /** Number of the allocation in force, if the service numbers allocations. */
  allocation: z.number().int().nullish(),
  pointsHash: Hash.nullable(),
  commitSignature: Signature.nullable(),
  /** End of the review of a computed epoch, if the service has reviews. */
  reviewEndsAt: z.string().nullish(),
  expiresAt: z.string().nullable(),
  settleRequestedAt: z.string().nullable(),
  onChain: z
    .object({ program: Address, authority: Address, mint: Address, account: Address, vault: Address, claimed: Amount, claims: z.number().int() })
    .nullable(),
});
export type Epoch = z.output<typeof Epoch>;

export const Header = z.object(sharedFields);
export type Header = z.output<typeof Header>;

export const Line = z.object({ index: z.number().int().nullable(), wallet: Address, points: Points.nullable(), amount: Amount });
export type Line = z.output<typeof Line>;

/** Requests a URL of the house. */
export type Fetch = typeof globalThis.fetch;

/**
 * Requests a URL.
 * @param allowMissing whether the response may have the status 404
 * @throws Unknown when the request fails or the response has another status than 200
 */
export async function get(fetch: Fetch, url: string, { allowMissing = false } = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(120_000) });
  } catch (error) {
    throw new Unknown('house', `${url} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (response.status !== 200 && !(allowMissing && response.status === 404))
    throw new Unknown('house', `${url} answered ${response.status}: ${(await response.text()).slice(0, 200)}`);
  return response;
}

/** Parses a value with a schema. @throws Lie with the path of the first invalid value */
export function read<Shape extends z.ZodType>(name: string, shape: Shape, value: unknown): z.output<Shape> {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Lie('documents', `${name}: ${issue?.path.join('.') || 'it'} is ${JSON.stringify(valueAt(value, issue?.path ?? []))}, which is not valid`);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), value);
}

/** Parses JSON. @throws Lie when the text is not JSON */
export function json(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Lie('documents', `${name} is not JSON: ${text.slice(0, 80)}`);
  }
}

/** Downloads an epoch and the file of its leaves, whose lines are not parsed yet. @throws Unknown also when the service is still computing the epoch */
export async function download(fetch: Fetch, base: string, epoch: number): Promise<{ epoch: Epoch; header: Header; lines: string[] }> {
  const url = new URL(`/api/rewards/epoch/${epoch}`, base).href;
  const document = json('the epoch', await (await get(fetch, url)).text());
  if (read('the epoch', Status, document).status === 'computing') throw new Unknown('house', 'the service is still computing it');
  const shown = read('the epoch', Epoch, document);
  const text = await (await get(fetch, `${url}/leaves`)).text();
  const [first = '', ...rest] = text.trimEnd().split('\n');
  const header = read('the first line of the leaves', Header, json('the first line of the leaves', first));
  return { epoch: shown, header, lines: rest };
}
