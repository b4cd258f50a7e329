// The accounts of a platform on which addresses are confirmed and every other way in is open: all themes in one process.
import './auth-confirmation.test.mjs'
import './auth-otp.test.mjs'
import './auth-changes.test.mjs'
import './auth-providers.test.mjs'
import './auth-wallets.test.mjs'
import './auth-factors.test.mjs'
import './auth-applications.test.mjs'
import './auth-keys.test.mjs'
