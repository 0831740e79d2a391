# Runs when a message is delivered: files spam to Junk, and unsure mail to Unsure, where a person sorts it.
require ["fileinto", "mailbox"];

if header :is "X-Spam-Flag" "YES" {
  fileinto :create "Junk";
} elsif header :matches "X-Priory-Verdict" "unsure;*" {
  fileinto :create "Unsure";
}
