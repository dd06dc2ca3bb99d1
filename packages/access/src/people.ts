import { BLANKS, textLike } from '@atrium/kernel/http'

const ID = `^[^/${BLANKS}]{1,128}$`
export const QX_ID_RULE = 'be 1 to 128 characters without white space, slashes and control characters'

/** The ids that people may have everywhere: user name, Q number, `qxId`. */
export const QxId = textLike(ID, QX_ID_RULE)

const ids = new RegExp(ID, 'u')
export const isQxId = (text: string): boolean => ids.test(text)

/** What may stand on each side of the @: nothing that would need quotes, or end the address where a mail names it. */
const PART = `[^@<>,;:"()\\[\\]\\\\${BLANKS}]`
const ADDRESS = `^${PART}{1,64}@${PART}{1,190}$`

/** Addresses that a mail can be sent to. */
export const MailAddress = textLike(ADDRESS, 'be an e-mail address', { maxLength: 254 })

export const MailAddressOrNone = textLike(`^$|${ADDRESS}`, 'be an e-mail address, or empty', {
  maxLength: 254,
})

const addresses = new RegExp(ADDRESS, 'u')
export const isMailAddress = (text: string): boolean => addresses.test(text)
