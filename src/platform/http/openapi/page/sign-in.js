/** The bar with which a developer signs in, so that requests of this page have a session. The service serves this file only in development. */

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** @param {Uint8Array} bytes */
function base58(bytes) {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = '';
  for (; number > 0n; number /= 58n) text = ALPHABET[Number(number % 58n)] + text;
  return '1'.repeat(bytes.findIndex((byte) => byte !== 0)) + text;
}

/** @throws an error with the error sentence of the service */
async function send(method, path, body) {
  const init = body === undefined ? { method } : { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(path, init);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Signs a new wallet in. Its key exists only in this function. */
async function signIn() {
  const { publicKey, privateKey } = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
  const address = base58(new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)));
  const { signInInput: input } = await send('POST', '/auth/nonce');
  const message = [
    `${input.domain} wants you to sign in with your Solana account:`,
    address,
    '',
    input.statement,
    '',
    `URI: ${input.uri}`,
    `Version: ${input.version}`,
    `Chain ID: ${input.chainId}`,
    `Nonce: ${input.nonce}`,
    `Issued At: ${input.issuedAt}`,
    `Expiration Time: ${input.expirationTime}`,
  ].join('\n');
  const signature = base58(new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, new TextEncoder().encode(message))));
  await send('POST', '/auth/verify', { publicKey: address, message, signature });
}

const [bar, status, button] = ['section', 'output', 'button'].map((name) => document.createElement(name));
bar.id = 'sign-in';
bar.append(status, button);
document.body.prepend(bar);
let isSignedIn = false;

async function show() {
  const response = await fetch('/me');
  const { wallet } = await response.json();
  isSignedIn = response.ok;
  status.textContent = isSignedIn ? `Development: signed in as ${wallet}` : 'Development: not signed in';
  button.textContent = isSignedIn ? 'Sign out' : 'Sign in with a new wallet';
}

/** Does the work, then shows its result or its error. */
async function run(work) {
  button.disabled = true;
  try {
    await work();
    await show();
  } catch (error) {
    status.textContent = `Development: ${error.message}`;
  }
  button.disabled = false;
}

button.addEventListener('click', () => run(() => (isSignedIn ? send('POST', '/auth/logout') : signIn())));
await run(async () => undefined);
