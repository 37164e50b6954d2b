import { keypairSigner, type MessageSigner } from '../../../client/src/index.ts';
import { readItem, writeItem } from '../ui/storage.ts';

const ITEM = 'coinop:throw-away-key';
const SECRET_BYTES = 32;

/**
 * Returns a signer with a key of this tab, for development: the key is lost when the tab is closed.
 * @throws when the browser has no Ed25519
 */
export async function throwawaySigner(): Promise<MessageSigner> {
  const stored = readItem('session', ITEM);
  const secret = stored === null ? await newSecret() : Uint8Array.from(atob(stored), (letter) => letter.charCodeAt(0));
  writeItem('session', ITEM, btoa(String.fromCharCode(...secret)));
  return keypairSigner(secret);
}

async function newSecret(): Promise<Uint8Array> {
  const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('this browser cannot create an Ed25519 key');
  // The last 32 bytes of the PKCS #8 form of an ed25519 key are its secret.
  return new Uint8Array(await crypto.subtle.exportKey('pkcs8', pair.privateKey)).slice(-SECRET_BYTES);
}
