/** The chain for the actions of operators and for changes of the record itself. */
export const OPERATOR_CHAIN = '@operator';
