import { type Logger, pino } from 'pino';
import type { Config } from '#config';

export type { Logger };

/** Opens the logger: one JSON object per line on stdout. Fields that may hold a secret are redacted. */
export function openLog(config: Config, process: string): Logger {
  return pino({
    level: config.logLevel,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: ['*.authorization', '*.cookie', '*.secret', '*.token'], censor: '[redacted]' },
  });
}
