# Runs when a message is delivered: Priory marks it, and spam goes to Junk.
require ["fileinto", "mailbox", "vnd.dovecot.filter"];

filter "priory-mark";
if header :is "X-Spam-Flag" "YES" {
  fileinto :create "Junk";
}
