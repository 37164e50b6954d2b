/** The settings that production requires. Their values are valid, and no other system has them. */
export const PRODUCTION = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://coinop.example',
  SESSION_KEYS: 'k'.repeat(32),
  RECEIPT_KEY: Buffer.alloc(32, 7).toString('base64'),
  MEDIA_FOLDER: '/var/lib/coinop/media',
  SOLANA_RPC_URL: 'http://127.0.0.1:1',
  DISTRIBUTOR_PROGRAM_ID: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
  REWARD_MINT: 'So11111111111111111111111111111111111111112',
  USDC_MINT: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
};
