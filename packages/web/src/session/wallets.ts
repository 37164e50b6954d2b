import { signal } from '@preact/signals';
import type { MessageSigner, SignInWallet } from '../../../client/src/index.ts';
import { settings } from '../settings.ts';

/** The parts of the Wallet Standard that the page uses: https://github.com/wallet-standard/wallet-standard */
interface Account {
  readonly address: string;
  readonly chains: readonly string[];
}
interface StandardWallet {
  readonly name: string;
  /** A data URL. */
  readonly icon: string;
  readonly chains: readonly string[];
  readonly accounts: readonly Account[];
  readonly features: {
    readonly 'standard:connect'?: { connect(): Promise<{ readonly accounts: readonly Account[] }> };
    readonly 'solana:signIn'?: SignInWallet;
    readonly 'solana:signMessage'?: {
      signMessage(input: { account: Account; message: Uint8Array }): Promise<readonly { readonly signature: Uint8Array }[]>;
    };
  };
}
type Register = (...wallets: StandardWallet[]) => () => void;

/** A wallet with which the visitor can sign in. */
export interface UsableWallet {
  readonly name: string;
  readonly icon: string | null;
  /** Returns the signer. A wallet may ask the visitor first. @throws the error of the wallet */
  signer(): Promise<SignInWallet | MessageSigner>;
}

/** The wallets of the browser that can sign in on Solana, in the order of their registration. */
export const wallets = signal<readonly UsableWallet[]>([]);

const isUsable = ({ chains, features }: StandardWallet): boolean =>
  chains.some((chain) => chain.startsWith('solana:')) &&
  ('solana:signIn' in features || ('solana:signMessage' in features && 'standard:connect' in features));

/** The page shows the icon only when it is an image in a data URL, as the standard demands. */
const iconOf = (icon: unknown): string | null => (typeof icon === 'string' && /^data:image\/(?:svg\+xml|png|webp|gif)[;,]/.test(icon) ? icon : null);

function usable(wallet: StandardWallet): UsableWallet {
  const { name, features } = wallet;
  return {
    name,
    icon: iconOf(wallet.icon),
    async signer() {
      const signIn = features['solana:signIn'];
      // The method belongs to its feature: some wallets use `this`.
      if (signIn) return { signIn: (input) => signIn.signIn({ ...input }) };
      const signMessage = features['solana:signMessage'];
      const connected = wallet.accounts.length > 0 ? wallet.accounts : (await features['standard:connect']?.connect())?.accounts;
      const isOnChain = ({ chains }: Account) => chains.includes(`solana:${settings.chain}`);
      const account = connected?.find(isOnChain) ?? connected?.[0];
      if (!account || !signMessage) throw new Error(`${name} shares no account with this page`);
      return {
        address: account.address,
        async signMessage(message) {
          const [signed] = await signMessage.signMessage({ account, message });
          if (!signed) throw new Error(`${name} returned no signature`);
          return signed.signature;
        },
      };
    },
  };
}

/** Finds the wallets of the browser: those that are there already, and those that register later. */
export function findWallets(): void {
  const register: Register = (...found) => {
    const known = new Set(wallets.value.map(({ name }) => name));
    wallets.value = [...wallets.value, ...found.filter((one) => isUsable(one) && !known.has(one.name)).map(usable)];
    return () => {
      wallets.value = wallets.value.filter(({ name }) => !found.some((one) => one.name === name));
    };
  };
  const api = Object.freeze({ register });
  addEventListener('wallet-standard:register-wallet', (event) => {
    if (event instanceof CustomEvent && typeof event.detail === 'function') event.detail(api);
  });
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
}
