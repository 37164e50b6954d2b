/**
 * A script that registers a wallet of the Wallet Standard in a page: https://github.com/wallet-standard/wallet-standard. The wallet has the feature
 * `solana:signIn`, and creates a key for each sign-in. It is a text, because it runs in the page and not in Node.
 */
export const WALLET_SCRIPT = `(() => {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  const base58 = (bytes) => {
    let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
    let text = '';
    for (; number > 0n; number /= 58n) text = alphabet[Number(number % 58n)] + text;
    return '1'.repeat(bytes.findIndex((byte) => byte !== 0)) + text;
  };
  async function signIn(input) {
    const { publicKey, privateKey } = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
    const address = base58(new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)));
    const lines = [input.domain + ' wants you to sign in with your Solana account:', address, '', input.statement, ''];
    lines.push('URI: ' + input.uri, 'Version: ' + input.version, 'Chain ID: ' + input.chainId, 'Nonce: ' + input.nonce);
    lines.push('Issued At: ' + input.issuedAt, 'Expiration Time: ' + input.expirationTime);
    const signedMessage = new TextEncoder().encode(lines.join('\\n'));
    const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, signedMessage));
    return [{ account: { address }, signedMessage, signature }];
  }
  const wallet = {
    version: '1.0.0', name: 'Test Wallet', icon: 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E',
    chains: ['solana:mainnet', 'solana:devnet', 'solana:localnet'], accounts: [],
    features: { 'solana:signIn': { version: '1.0.0', signIn } },
  };
  const register = (api) => api.register(wallet);
  dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  addEventListener('wallet-standard:app-ready', (event) => register(event.detail));
})()`;
