import type { ActionError, ActionGetResponse, ActionPostResponse, ActionRuleObject, ActionsJson } from '@solana/actions-spec';
import { type Keypair, PublicKey, Transaction } from '@solana/web3.js';
import type { TestConnection } from './chain.ts';

/** A page of another site, from which a browser would send the requests. */
const ORIGIN = 'https://wallet.example';

/** A response of an action, checked as a browser checks it for a page of another origin. */
export interface ActionAnswer<Body> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Headers;
}

/** Sends a request as a page of another origin: first the preflight, then the request, without credentials. @throws when CORS forbids it */
export async function requestFrom<Body>(url: string, body?: unknown): Promise<ActionAnswer<Body>> {
  const method = body === undefined ? 'GET' : 'POST';
  const asks = { Origin: ORIGIN, 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': 'content-type,x-accept-action-version' };
  const preflight = await fetch(url, { method: 'OPTIONS', headers: asks });
  const allowed = (name: string) => (preflight.headers.get(`access-control-allow-${name}`) ?? '').toLowerCase();
  if (!preflight.ok || allowed('origin') !== '*') throw new Error('the preflight must allow any origin');
  if (!allowed('methods').includes(method.toLowerCase())) throw new Error(`the preflight must allow ${method}`);
  for (const header of ['content-type', 'authorization', 'content-encoding', 'accept-encoding', 'x-accept-action-version'])
    if (!allowed('headers').includes(header)) throw new Error(`the preflight must allow the header ${header}`);
  const headers = { Origin: ORIGIN, 'Sec-Fetch-Site': 'cross-site', 'X-Accept-Action-Version': '2.4' };
  const response =
    body === undefined
      ? await fetch(url, { headers })
      : await fetch(url, { method, headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (response.headers.get('access-control-allow-origin') !== '*') throw new Error('the response must allow any origin');
  if (response.headers.has('access-control-allow-credentials')) throw new Error('the response must not allow credentials');
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

/** Maps a path by the rules of actions.json, as the specification defines it. @returns null when no rule matches */
export function mapPath(rules: readonly ActionRuleObject[], path: string): string | null {
  for (const { pathPattern, apiPath } of rules) {
    const pattern = pathPattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*\*|\*/g, (stars) => (stars === '**' ? '(.*)' : '([^/]+)'));
    const found = new RegExp(`^${pattern}$`).exec(path);
    if (!found) continue;
    const parts = found.slice(1).values();
    return apiPath.replace(/\*\*|\*/g, () => parts.next().value ?? '');
  }
  return null;
}

/** Reads the action to which a page leads. */
export async function openAction(site: string, page: string): Promise<ActionAnswer<ActionGetResponse> & { readonly path: string }> {
  const { body } = await requestFrom<ActionsJson>(`${site}/actions.json`);
  const path = mapPath(body.rules, page);
  if (path === null) throw new Error(`no rule matches ${page}`);
  return { path, ...(await requestFrom<ActionGetResponse>(`${site}${path}`)) };
}

/** Requests the transaction of an action. */
export const requestTransaction = (site: string, href: string, account: string) =>
  requestFrom<ActionPostResponse & Partial<ActionError>>(`${site}${href}`, { account, type: 'transaction', data: {} });

/**
 * Signs and sends the transaction of an action as the specification demands of a client: it trusts nothing but the instructions, sets fee payer and
 * blockhash itself, and signs only if no other signature is expected.
 * @returns the signature
 */
export async function signAndSend(connection: TestConnection, answer: ActionPostResponse, signer: Keypair): Promise<string> {
  if (answer.type !== 'transaction') throw new Error('the response must have a transaction');
  const given = Transaction.from(Buffer.from(answer.transaction, 'base64'));
  if (given.signatures.some(({ signature }) => signature !== null)) throw new Error('the transaction must not be signed');
  if (!given.feePayer?.equals(signer.publicKey)) throw new Error('the account must pay the fee');
  const others = given.signatures.filter(({ publicKey }) => !publicKey.equals(signer.publicKey));
  if (others.length > 0)
    throw new Error(`the transaction is malicious: it expects a signature of ${others.map(({ publicKey }) => publicKey.toBase58())}`);
  given.feePayer = new PublicKey(signer.publicKey);
  given.recentBlockhash = (await connection.getLatestBlockhash()).blockhash;
  given.sign(signer);
  return await connection.sendRawTransaction(given.serialize());
}
