/** The public API of appeals: the removal of what wallets wrote. */
export { forgetAppealsOf } from './appeals.ts';
