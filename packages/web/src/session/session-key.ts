import { signal } from '@preact/signals';

/** Changes with each sign-in and sign-out. Components that show data of a wallet read it, so that they load the data again. */
export const sessionKey = signal(0);
